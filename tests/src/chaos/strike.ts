/** Kills what a strike names at the moment it names, and brings everything back. */
import { writeFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { sql } from "@superstep/toolkit/db/sql"
import { killAll, send } from "@superstep/toolkit/testing/processes"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import type { KillableServer } from "superstep/prove/killable-server"
import type { ConversationClient } from "./client.js"
import type { Execution } from "./facts.js"
import type { Installation } from "./installation.js"
import {
  holdLock,
  lockCheckpoints,
  lockEvents,
  lockThread,
  stopAfterLastCheckpoint,
  untilExecuting,
  untilWaiting,
} from "./moments.js"
import type { Strike } from "./schedule.js"

/** What a strike needs to know of the round it is in. */
export interface Scene {
  readonly installation: Installation
  readonly random: Random
  /** Begins all conversations; resolves when the main one, a streamed run of `steps`, is acknowledged. */
  begin(): Promise<ConversationClient>
  /** The main conversation once it has begun. */
  main(): ConversationClient
  /** Cuts the connections of all clients; they connect again. */
  disconnect(): void
}

/** What a strike hit. */
export interface Struck {
  /** How many processes were killed or paused; a Postgres with its sessions counts as one, and so does a network. */
  readonly count: number
  /** Whether what executes the main conversation's run still lived at the point that was named; chance always hits. */
  readonly isHit: boolean
}

export async function carryOut(strike: Strike, scene: Scene): Promise<Struck> {
  switch (strike.point) {
    case "random":
      await sleep(strike.delayMs)
      return kill(strike, scene)
    case "before the first checkpoint":
      return beforeFirstCheckpoint(strike, scene)
    case "before its events are committed":
      return beforeEventsAreCommitted(strike, scene)
    case "while streaming":
      return whileStreaming(strike, scene)
    case "between checkpoint and status":
      return afterLastCheckpoint(strike, scene)
    case "during the final write":
      return duringFinalWrite(strike, scene)
    case "while draining":
      return whileDraining(strike, scene)
  }
}

async function beforeFirstCheckpoint(strike: Strike, scene: Scene): Promise<Struck> {
  const { installation, begin } = scene
  await using lock = await holdLock(installation.db, lockCheckpoints)
  await begin()
  await untilWaiting(installation.db, lock)
  const struck = await kill(strike, scene, await claimedBy(scene))
  await lock.release()
  return struck
}

/** Neither its client nor a checkpoint may be ahead of its events. */
async function beforeEventsAreCommitted(strike: Strike, scene: Scene): Promise<Struck> {
  const { installation, begin } = scene
  await using lock = await holdLock(installation.db, lockEvents)
  await begin()
  await untilWaiting(installation.db, lock)
  await sleep(strike.delayMs)
  const struck = await kill(strike, scene, await claimedBy(scene))
  await lock.release()
  return struck
}

async function whileStreaming(strike: Strike, scene: Scene): Promise<Struck> {
  const client = await scene.begin()
  const events = () => [...client.streams.values()][0] ?? []
  await until(() => events().filter(({ event }) => event === "custom").length >= 2, { what: "tokens have come" })
  return kill(strike, scene, aimAt(scene, await executing(scene)))
}

async function afterLastCheckpoint(strike: Strike, scene: Scene): Promise<Struck> {
  const client = await scene.begin()
  const [runId = ""] = client.acknowledged
  const { steps: lastStep, gate = "" } = client.conversation
  const place = { threadId: client.threadId, runId, lastStep, gate }
  const last = await stopAfterLastCheckpoint(scene.installation, place)
  const struck = await kill(strike, scene, aimAt(scene, last))
  send(last.pid, "SIGCONT")
  return struck
}

async function duringFinalWrite(strike: Strike, scene: Scene): Promise<Struck> {
  const { installation, begin } = scene
  const client = await begin()
  await using lock = await holdLock(installation.db, lockThread(client.threadId))
  writeFileSync(client.conversation.gate ?? "", "")
  await untilWaiting(installation.db, lock)
  const struck = await kill(strike, scene, aimAt(scene, await executing(scene)))
  await lock.release()
  return struck
}

async function whileDraining(strike: Strike, scene: Scene): Promise<Struck> {
  await scene.begin()
  const aim = aimAt(scene, await executing(scene))
  const { server } = aim
  server.terminate()
  await until(() => server.said("server stopping") || !server.isRunning, { what: "the server drains" })
  await sleep(strike.delayMs / 2)
  const struck = await kill(strike, scene, aim)
  // What was not killed ends by itself, and comes back.
  if (strike.target !== "server")
    await until(() => !server.isRunning, { what: "the server has drained", timeoutMs: 60_000 })
  server.start()
  return struck
}

/** What executes the main conversation's run at this moment: the newest thing that one of its nodes told. */
function executing({ installation, main }: Scene): Promise<Execution> {
  return untilExecuting(installation, ({ run_id }) => main().acknowledged.includes(run_id))
}

/** What must be hit, where it lives still; what else is killed with it is chance. */
interface Aim {
  readonly server: KillableServer
  readonly workers: readonly number[]
}

function aimAt({ installation: { servers }, random }: Scene, { pid }: Execution): Aim {
  const server = servers.find((one) => one.workerPids().includes(pid)) ?? random.pick(servers)
  return { server, workers: [pid] }
}

/** Before the first node has told where a run executes the table knows the server, and it is one of its workers. */
async function claimedBy({ installation: { db, servers }, random, main }: Scene): Promise<Aim> {
  const [runId] = main().acknowledged
  const run = await db.row<{ claimed_by: string | null }>(sql`select claimed_by from runs where run_id = ${runId}`)
  const server = servers.find(({ serverId }) => serverId === run?.claimed_by)
  return { server: server ?? random.pick(servers), workers: server?.workerPids() ?? [] }
}

async function kill(strike: Strike, scene: Scene, aim?: Aim): Promise<Struck> {
  const isAimed = aim === undefined || aim.server.workerPids().some((pid) => aim.workers.includes(pid))
  const count = await killAt(strike, scene, aim)
  return { count, isHit: isAimed && count > 0 }
}

async function killAt(strike: Strike, scene: Scene, aim?: Aim): Promise<number> {
  const { installation, random } = scene
  const { servers, postgres } = installation
  if (strike.target === "network") return cutOff(strike, scene)
  if (strike.target === "paused server") return pauseServer(strike, scene)
  if (strike.target === "paused worker") return pauseWorker(strike, scene)
  if (strike.target === "postgres") {
    await postgres.kill()
    await sleep(strike.awayMs)
    await postgres.start()
    return 1
  }
  if (strike.target === "server") {
    const server = aim?.server ?? random.pick(servers)
    const wasRunning = await server.kill()
    await sleep(strike.awayMs)
    server.start()
    return wasRunning ? 1 : 0
  }
  const living = servers.flatMap((server) => server.workerPids())
  const chosen = new Set(aim?.workers.filter((pid) => living.includes(pid)))
  while (chosen.size < Math.min(strike.count, living.length)) chosen.add(random.pick(living))
  await killAll([...chosen])
  return chosen.size
}

/** No server reaches Postgres for a while: connections break at once, or nobody is told. */
async function cutOff({ awayMs }: Strike, { installation: { network }, random }: Scene): Promise<number> {
  if (!network) throw new Error("this installation has no network that can be cut")
  network.cut(random.pick(["reset", "silence"]))
  await sleep(awayMs)
  network.heal()
  return 1
}

/** Its clients would wait for it: they are sent away, as a load balancer does that finds it ill. */
async function pauseServer({ awayMs }: Strike, { installation, random, disconnect }: Scene): Promise<number> {
  const server = random.pick(installation.servers)
  server.pause({ withWorkers: random.next() < 0.5 })
  disconnect()
  await sleep(awayMs)
  const wasRunning = server.isPaused
  server.resume()
  return wasRunning ? 1 : 0
}

async function pauseWorker({ awayMs }: Strike, { installation, random }: Scene): Promise<number> {
  const living = installation.servers.flatMap((server) => server.workerPids())
  if (living.length === 0) return 0
  const pid = random.pick(living)
  send(pid, "SIGSTOP")
  await sleep(awayMs)
  send(pid, "SIGCONT")
  return 1
}

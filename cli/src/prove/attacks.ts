/** What is done to an installation, once each, and undone. */
import { setTimeout as sleep } from "node:timers/promises"
import type { PostgresProxy } from "@superstep/toolkit/testing/postgres-proxy"
import { killAll } from "@superstep/toolkit/testing/processes"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import { type Installation, leaseSeconds } from "./installation.js"
import type { KillableServer } from "./killable-server.js"

export interface Scene {
  readonly installation: Installation
  readonly random: Random
  readonly signal: AbortSignal
  /** Closes the connections of all clients; they connect again. */
  disconnect(): void
}

export interface Attack {
  /** For users. */
  readonly words: string
  /** @returns false when there was nothing to attack @throws AbortError */
  carryOut(scene: Scene): Promise<boolean>
}

export const attacks: readonly Attack[] = [
  { words: "kill workers (kill -9)", carryOut: killWorkers },
  { words: "kill a server and its workers (kill -9)", carryOut: killServer },
  { words: "kill Postgres (kill -9)", carryOut: killPostgres },
  { words: "stop a server in order (SIGTERM)", carryOut: stopServer },
  { words: "pause a server longer than its lease", carryOut: pauseServer },
  { words: "cut the servers off from Postgres", carryOut: cutOff },
  { words: "lose the reply of a commit, or break a request", carryOut: spoilStatement },
  { words: "close the connections of all clients", carryOut: closeConnections },
]

const away = ({ signal }: Scene, ms: number) => sleep(ms, undefined, { signal })

/** All of both servers, or one. */
async function killWorkers({ installation: { servers }, random }: Scene): Promise<boolean> {
  const living = servers.flatMap((server) => server.workerPids())
  if (living.length === 0) return false
  await killAll(random.next() < 0.5 ? living : [random.pick(living)])
  return true
}

async function killServer(scene: Scene): Promise<boolean> {
  const server = scene.random.pick(scene.installation.servers)
  const wasRunning = await server.kill()
  // Now and then longer than its lease: then the other one takes its runs over, and it finds nothing to take back.
  await away(scene, scene.random.pick([0, 300, leaseSeconds * 1500]))
  server.start()
  return wasRunning
}

async function killPostgres(scene: Scene): Promise<boolean> {
  const { postgres } = scene.installation
  await postgres.kill()
  await away(scene, scene.random.pick([0, 300, 3000]))
  await postgres.start()
  return true
}

async function stopServer(scene: Scene): Promise<boolean> {
  const server = scene.random.pick(scene.installation.servers)
  const { isRunning } = server
  await untilStopped(server, scene)
  server.start()
  return isRunning
}

async function untilStopped(server: KillableServer, scene: Scene): Promise<void> {
  server.terminate()
  while (server.isRunning) await away(scene, 50)
}

async function pauseServer(scene: Scene): Promise<boolean> {
  const server = scene.random.pick(scene.installation.servers)
  server.pause({ withWorkers: scene.random.next() < 0.5 })
  const { isPaused } = server
  // A load balancer does so when it finds a server that does not answer.
  scene.disconnect()
  try {
    await away(scene, leaseSeconds * 1500)
  } finally {
    server.resume()
  }
  return isPaused
}

async function cutOff(scene: Scene): Promise<boolean> {
  const { network } = scene.installation
  network.cut(scene.random.pick(["reset", "silence"] as const))
  try {
    await away(scene, scene.random.pick([500, 2000, leaseSeconds * 1500]))
  } finally {
    network.heal()
  }
  return true
}

// Of what a run writes, by a part of the statement that nothing else has.
const statements = [/\bcommit_attempts\(/, /insert into run_events/, /\bbegin_run\(/, /^commit$/]
const waitMs = 5000

async function spoilStatement(scene: Scene): Promise<boolean> {
  const { random, installation } = scene
  const kind = random.pick(["lose reply", "break request"] as const)
  const first = random.between(0, statements.length - 1)
  const fault = (index: number) => ({ kind, at: statements[(first + index) % statements.length] ?? /^commit$/ })
  // What executes at this moment may not send the one that was chosen.
  return (await hits(installation.network, fault(0), scene)) || hits(installation.network, fault(1), scene)
}

async function hits(
  network: PostgresProxy,
  fault: Parameters<PostgresProxy["aim"]>[0],
  scene: Scene,
): Promise<boolean> {
  const aim = network.aim(fault)
  try {
    await Promise.race([aim.hit, away(scene, waitMs)])
    return aim.isHit
  } finally {
    aim.disarm()
  }
}

async function closeConnections(scene: Scene): Promise<boolean> {
  for (let times = 0; times < 3; times++) {
    scene.disconnect()
    await away(scene, scene.random.between(20, 300))
  }
  return true
}

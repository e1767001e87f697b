/**
 * Rounds in which the sockets between servers and their workers fail while histories are written: a connection is cut in the middle of a frame, or one direction
 * is dropped for good. No process is killed by us. The judge of histories decides whether any order explains what clients saw.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { sql } from "@superstep/toolkit/db/sql"
import { ArmedFault } from "@superstep/toolkit/testing/armed-fault"
import { interposeSocket, type SocketAims, type SocketFault } from "@superstep/toolkit/testing/interposed-socket"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import { Recorder } from "../histories/call.js"
import { judgeHistory } from "../histories/judge.js"
import { ThreadWriters } from "../histories/writers.js"
import { type Installation, startInstallation } from "./installation.js"
import { readMarks } from "./marks.js"

export interface WorkerCutsReport {
  readonly seed: number
  readonly calls: number
  /** How often each kind of fault hit, by its name. */
  readonly hits: ReadonlyMap<string, number>
  readonly broken: readonly string[]
}

export interface WorkerCutsOptions {
  readonly seed: number
  readonly faults: number
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Where the calls of each round are written; a folder of the campaign unless told. */
  readonly folder?: string | undefined
  readonly onRound?: (report: WorkerCutsReport) => void
  /** Ends the campaign after the round that is held. */
  readonly signal?: AbortSignal
}

const threadsOfRound = 4
// A frame of the protocol has 30 bytes at least; values of a state have more.
const pieces = [2, 40, 300]
// A run survives two losses, and one by silence: after a second one it counts as a run that blocks its worker.
const kindsOfRound = ["cut", "swallow"] as const
const directions = ["to server", "to client"] as const
// A worker that answers no ping for this long is killed: a ping is sent every five seconds.
const stalledSeconds = 6

export async function workerCutsCampaign(options: WorkerCutsOptions): Promise<WorkerCutsReport> {
  const { seed, faults, folder, onRound, signal } = options
  const env = { ...options.env, SUPERSTEP_WORKER_STALLED_SECONDS: String(stalledSeconds) }
  await using installation = await startInstallation({ env })
  await using sockets = await workerSockets(installation)
  const [schedule, times] = [seededRandom(seed), seededRandom(~seed)]
  const holds = options.env?.SUPERSTEP_PYTHON === undefined ? "doubles" : "all"
  let report: WorkerCutsReport = { seed, calls: 0, hits: new Map(), broken: [] }
  // A round has two faults, and most hit.
  for (let round = 0; round < faults && hitsOf(report) < faults && !signal?.aborted; round++) {
    const recorder = new Recorder(join(folder ?? installation.folder, `seed-${seed}-cuts-${round}.jsonl`))
    const threads = Array.from({ length: threadsOfRound }, (_, index) => {
      const shared = {
        name: `r${round}t${index}`,
        seed: schedule.between(0, 2 ** 31),
        writers: 3,
        calls: 12,
        holds,
      } as const
      return new ThreadWriters(shared, {
        recorder,
        db: installation.db,
        url: () => times.pick(installation.servers).url,
      })
    })
    const written = Promise.all(threads.map((thread) => thread.write()))
    // It is awaited below.
    written.catch(() => undefined)
    const hits = new Map(report.hits)
    for (const kind of schedule.next() < 0.5 ? kindsOfRound : kindsOfRound.toReversed()) {
      const fault = { kind, direction: schedule.pick(directions), bytes: schedule.pick(pieces) }
      await sleep(times.between(0, 1500))
      if (await sockets.strike(fault, written)) {
        const name = `${kind} ${fault.direction}`
        hits.set(name, (hits.get(name) ?? 0) + 1)
      }
    }
    await written
    await Promise.all(threads.map((thread) => thread.readLast()))
    const { faults: impossible } = judgeHistory(recorder.calls)
    report = {
      seed,
      calls: report.calls + recorder.calls.length,
      hits,
      broken: [...report.broken, ...impossible, ...(await lostRuns(installation, round))],
    }
    onRound?.(report)
  }
  const { brokenRules } = readMarks(installation.servers.map(({ logFile }) => readFileSync(logFile, "utf8")))
  const missed = hitsOf(report) < faults && !signal?.aborted ? [`only ${hitsOf(report)} of ${faults} faults hit`] : []
  return { ...report, broken: [...report.broken, ...brokenRules, ...missed] }
}

const hitsOf = ({ hits }: WorkerCutsReport): number => [...hits.values()].reduce((sum, each) => sum + each, 0)

/** Runs of this round that ended since they had lost too many workers: none may, since each survives the faults of a round. */
async function lostRuns({ db }: Installation, round: number): Promise<string[]> {
  const rows = await db.rows<{ run: string; error: string | null }>(sql`
    select metadata ->> 'run' as run, error::text as error from runs
    where error ->> 'error' = 'WorkerLost' and metadata ->> 'run' like ${`r${round}t%`}`)
  return rows.map(({ run, error }) => `${run} was lost: ${error}`)
}

interface WorkerSockets extends AsyncDisposable {
  /**
   * On whichever connection has the next frame: a server may have nothing to do for a whole round.
   * @param work  what the frames are of
   * @returns  whether it hit before the work was over
   */
  strike(fault: SocketFault, work: Promise<unknown>): Promise<boolean>
}

/** Takes the place of the servers' sockets for workers, and restarts the workers, which connect to it then. */
async function workerSockets({ folder, servers }: Installation): Promise<WorkerSockets> {
  const parent = join(folder, "tmp")
  const folders = readdirSync(parent).filter((name) => name.startsWith("superstep-workers-"))
  const aims: SocketAims = new Set()
  const sockets = await Promise.all(folders.map((name) => interposeSocket(join(parent, name, "workers.sock"), aims)))
  for (const pid of servers.flatMap((server) => server.workerPids())) process.kill(pid, "SIGKILL")
  await until(() => sockets.length === servers.length && sockets.every(({ connections }) => connections > 0), {
    what: "the workers of all servers connect again",
  })
  return {
    strike: async (fault, work) => {
      const aim = new ArmedFault(fault, aims)
      await Promise.race([aim.hit, work])
      aim.disarm()
      return aim.isHit
    },
    [Symbol.asyncDispose]: async () => void (await Promise.all(sockets.map((each) => each[Symbol.asyncDispose]()))),
  }
}

export const renderWorkerCuts = ({ seed, calls, hits, broken }: WorkerCutsReport): string =>
  [
    `seed ${seed}: ${[...hits].map(([name, count]) => `${name} ${count} times`).join(", ")}; ${calls} calls`,
    `broken: ${broken.length}`,
    ...broken,
  ].join("\n")

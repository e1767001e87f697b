/**
 * Rounds in which Postgres loses the last seconds of what it has acknowledged, as an asynchronous standby does that is promoted: commits wait up to ten
 * seconds for the disk, and it is killed before. What clients were told may then be gone, so no order is asked for. What is left must be whole: no state without a
 * part that came before the rest, and no run that fails by it.
 */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { type Call, entryOf, Recorder } from "../histories/call.js"
import { ThreadWriters } from "../histories/writers.js"
import { startInstallation } from "./installation.js"

export interface LossyReport {
  readonly seed: number
  /** How often Postgres was killed. */
  readonly kills: number
  readonly calls: number
  readonly faults: readonly string[]
}

export interface LossyOptions {
  readonly seed: number
  readonly kills: number
  /** Where the calls of each round are written; a folder of the campaign unless told. */
  readonly folder?: string | undefined
  readonly onRound?: (report: LossyReport) => void
  /** Ends the campaign after the round that is held. */
  readonly signal?: AbortSignal
}

const threadsOfRound = 4
// So that runs go on while Postgres is lost and comes back.
const stepMs = [200, 600, 1500]

export async function lossyCampaign({ seed, kills, folder, onRound, signal }: LossyOptions): Promise<LossyReport> {
  await using installation = await startInstallation({ env: { SUPERSTEP_LEASE_SECONDS: "10" }, prepare: commitLate })
  const { servers, db, postgres } = installation
  const [schedule, times] = [seededRandom(seed), seededRandom(~seed)]
  const url = () => times.pick(servers).url
  let report: LossyReport = { seed, kills: 0, calls: 0, faults: [] }
  for (let round = 0; report.kills < kills && !signal?.aborted; round++) {
    const recorder = new Recorder(join(folder ?? installation.folder, `seed-${seed}-lossy-${round}.jsonl`))
    const threads = Array.from({ length: threadsOfRound }, (_, index) => {
      const shared = { name: `r${round}t${index}`, seed: schedule.between(0, 2 ** 31), writers: 3, calls: 12, stepMs }
      return new ThreadWriters(shared, { recorder, db, url })
    })
    const written = Promise.all(threads.map((thread) => thread.write()))
    // It is awaited below.
    written.catch(() => undefined)
    await sleep(times.between(1000, 5000))
    // What was committed before is kept, what is committed from now on is lost.
    await db.run(sql`checkpoint`)
    await sleep(times.between(100, 2000))
    await postgres.kill()
    await postgres.start()
    await written
    await installation.untilWhole()
    for (const thread of threads) await thread.readLast()
    const faults = holes(recorder.calls)
    report = {
      seed,
      kills: report.kills + 1,
      calls: report.calls + recorder.calls.length,
      faults: [...report.faults, ...faults],
    }
    onRound?.(report)
  }
  return report
}

async function commitLate(db: Db): Promise<void> {
  await db.run(sql`alter system set synchronous_commit = off`)
  await db.run(sql`alter system set wal_writer_delay = '10s'`)
  await db.run(sql`alter system set wal_writer_flush_after = '1GB'`)
  await db.run(sql`select pg_reload_conf()`)
}

/** States in which something is missing that was saved before what is there, and runs that failed by it. */
export function holes(calls: readonly Call[]): string[] {
  return calls.flatMap(({ thread, what, outcome }) => {
    const { log = [], lacks, status } = outcome.is === "ok" ? (outcome.value ?? {}) : {}
    if (lacks !== undefined) return [`${thread}: the state [${log.join(" ")}] has no ${lacks}`]
    if (what.op === "run" && status === "error") return [`${thread}: ${what.run} has ended in an error`]
    return missingSteps(log.map(entryOf)).map((entry) => `${thread}: [${log.join(" ")}] has no ${entry}`)
  })
}

function missingSteps(entries: readonly string[]): string[] {
  return entries.flatMap((entry) => {
    const [, task, step] = /^(.*)\/(\d+)$/.exec(entry) ?? []
    if (task === undefined) return []
    const before = step === "0" ? `${task}/in` : `${task}/${Number(step) - 1}`
    return entries.includes(before) ? [] : [before]
  })
}

export const renderLossy = ({ seed, kills, calls, faults }: LossyReport): string =>
  [
    `seed ${seed}: Postgres lost its last seconds ${kills} times, ${calls} calls`,
    `holes: ${faults.length}`,
    ...faults,
  ].join("\n")

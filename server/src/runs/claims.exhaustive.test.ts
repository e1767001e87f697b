/**
 * Every order of the queue's statements, up to a length, on a real database: one thread, a few runs, two servers, each statement of the
 * product. After each step the rules of README.md (R1 to R8) are checked, and from each state that is new, whether all runs come to an end.
 * Steps happen one after the other; what happens while another transaction holds a lock is in races.test.ts.
 */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { type TestContext, test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { parseJson } from "@superstep/toolkit/http/json"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { runsLongTests, runsWideTests } from "@superstep/toolkit/testing/wide-tests"
import type { NewCheckpoint } from "../checkpoints/checkpoint.js"
import type { ClaimWrite } from "../checkpoints/claim-batch.js"
import { writeClaims } from "../checkpoints/queries.js"
import { checkpoint } from "../checkpoints/testing/claimed-runs.js"
import { renewServer } from "../servers/queries.js"
import { endLeases } from "../testing/end-leases.js"
import { newRun } from "../testing/new-run.js"
import { migrations } from "../testing/test-server.js"
import { claimRuns, findFormerClaims, findHeldClaims, findUnheldClaims, type LostClaim, releaseRun } from "./claims.js"
import { beginRun, deleteRun, stopRun } from "./queries.js"
import { type AttemptEnding, type CancelAction, isFinal, type MultitaskStrategy, type RunStatus } from "./run.js"

const leaseMs = 30_000
const servers: readonly [string, string] = [randomUUID(), randomUUID()]
const names = ["A", "B"]
const threadId = randomUUID()

/** What the tables say of a run. */
interface Run {
  readonly run_id: string
  readonly status: RunStatus
  readonly attempt: number
  readonly claim_id: string | null
  readonly claimed_by: string | null
  /** Whether its own time has ended, and whether its server's lease has, too. */
  readonly is_old: boolean | null
  readonly is_expired: boolean | null
  readonly cancel_action: CancelAction | null
  readonly losses: number
  readonly servers_lost: number
  readonly runs_alone: boolean
}

interface Facts {
  readonly runs: readonly Run[]
  readonly thread: string | undefined
  /** How many checkpoints each run has, by its id. */
  readonly saved: Readonly<Record<string, number>>

  readonly all: string
}

/** A claim that a server was given, whether or not it still holds. */
interface Given {
  readonly runId: string
  readonly claimId: string
  readonly attempt: number
}

interface Outcome {
  /** Claims that the step gave. */
  readonly given?: readonly Given[]
  /** Whether the step told somebody that a run can start. */
  readonly wakes?: boolean
  /** Whether the step's claim was found to be lost. */
  readonly isLost?: boolean
  /** Whether the step releases runs that it does not end. */
  readonly releases?: boolean
}

interface Step {
  readonly name: string
  /** The claim whose holder takes the step. */
  readonly by?: Given
  readonly take: (db: Db) => Promise<Outcome>
}

async function readFacts(db: Db): Promise<Facts> {
  const row = await db.row<{ runs: string | null; thread: string | null; saved: string | null; all: string }>(sql`
    select
      (select json_agg(json_build_object('run_id', run_id, 'status', status, 'attempt', attempt, 'claim_id', claim_id,
          'claimed_by', claimed_by, 'is_expired', is_claim_lost(r), 'is_old', lease_until < now(), 'cancel_action', cancel_action, 'losses', losses,
          'servers_lost', servers_lost, 'runs_alone', runs_alone) order by seq) from runs r) as runs,
      (select status from threads) as thread,
      (select json_object_agg(run_id, count) from (
        select metadata ->> 'run_id' as run_id, count(*) from checkpoints group by 1) of_run) as saved,
      concat((select json_agg(r order by seq) from runs r), (select json_agg(t) from threads t),
        (select json_agg(c order by seq) from checkpoints c)) as all`)
  assert.ok(row)
  return {
    runs: parseJson(row.runs ?? "[]") as Run[],
    thread: row.thread ?? undefined,
    saved: parseJson(row.saved ?? "{}") as Facts["saved"],
    all: row.all,
  }
}

/** States with the same key are followed by the same steps. */
const keyOf = ({ runs, thread, saved }: Facts, given: readonly Given[]): string =>
  JSON.stringify([
    thread,
    runs.map((run) => [
      run.status,
      run.attempt,
      servers.indexOf(run.claimed_by ?? ""),
      run.is_expired,
      run.is_old,
      run.cancel_action,
      run.losses,
      run.servers_lost,
      run.runs_alone,
      Math.min(saved[run.run_id] ?? 0, 1),
    ]),
    given.map(({ runId, attempt }) => [runs.findIndex(({ run_id }) => run_id === runId), attempt]).sort(),
  ])

function create(strategy: MultitaskStrategy): Step {
  const runId = randomUUID()
  const take = async (db: Db): Promise<Outcome> => {
    const created = await beginRun(db, {
      ...newRun(threadId),
      runId,
      threadRule: "create_if_missing",
      multitaskStrategy: strategy,
      serverId: servers[0],
      canExecute: true,
      leaseMs,
    })
    const given = created.claim_id === null ? [] : [{ runId, claimId: created.claim_id, attempt: 1 }]
    return { given, wakes: created.waiting !== null }
  }
  return { name: `create (${strategy})`, take }
}

const claim = (server: 0 | 1, runsAlone: boolean): Step => ({
  name: `${names[server]} claims${runsAlone ? " a run that executes alone" : ""}`,
  take: async (db) => ({
    given: await claimRuns(db, { serverId: servers[server], revisionId: null, leaseMs }, { limit: 2, runsAlone }),
  }),
})

const silence = (server: 0 | 1): Step => ({
  name: `${names[server]} is silent for a lease`,
  take: async (db) => {
    await endLeases(db, servers[server])
    return {}
  },
})

const renew = (server: 0 | 1, runs: readonly Run[]): Step => ({
  name: `${names[server]} renews`,
  take: async (db) => {
    await renewServer(db, { serverId: servers[server], revisionId: null, leaseMs }, { freeSlots: 2, freeSoloSlots: 1 })
    const claims = runs.flatMap(({ claim_id }) => claim_id ?? [])
    const held = await findHeldClaims(db, servers[server], claims)
    assert.equal(held.length, claims.length, "a claim that the table shows is held")
    return {}
  },
})

/** What happens to claims of a server that nobody executes. */
const takeBack = (server: 0 | 1, ending: "lease_ended" | "server_restarted" | "abandoned"): Step => ({
  name: {
    lease_ended: `${names[1 - server]} takes back what ${names[server]} has lost`,
    server_restarted: `${names[server]} restarts`,
    abandoned: `${names[server]} gives back what it does not execute`,
  }[ending],
  take: async (db) => {
    const serverId = servers[ending === "lease_ended" ? 1 - server : server] ?? ""
    const unheld = () => findUnheldClaims(db, { serverId, heldHere: [], untilMs: Number.POSITIVE_INFINITY })
    const isOne = (one: LostClaim) => !("ending" in one) || one.ending === ending
    const lost = await (ending === "server_restarted" ? findFormerClaims(db, serverId) : unheld())
    const released = []
    for (const one of lost.filter(isOne))
      released.push(await releaseRun(db, { ...one, ending, watcher: undefined }, "{}"))
    return { wakes: released.some(({ waiting }) => waiting !== null), releases: true }
  },
})

const release = (by: Given, ending: AttemptEnding): Step => ({
  name: `attempt ${by.attempt}: ${ending}`,
  by,
  take: async (db) => {
    const { outcome, waiting } = await releaseRun(db, { ...by, ending, watcher: undefined }, "{}")
    return { isLost: outcome === "claim_lost", wakes: waiting !== null, releases: true }
  },
})

const write = (by: Given, name: string, one: ClaimWrite): Step => ({
  name: `attempt ${by.attempt} ${name}`,
  by,
  take: async (db) => {
    const [outcome] = await writeClaims(db, [{ fence: by, writes: [one] }])
    return { isLost: outcome?.outcome === "claim_lost", wakes: Boolean(outcome?.waiting) }
  },
})

const checkpointOf = ({ runId }: Given): NewCheckpoint =>
  checkpoint({ threadId }, randomUUID(), { metadata: JSON.stringify({ run_id: runId }), blobs: [] })

const end = (by: Given, status: "success" | "error"): Step =>
  write(by, `ends in ${status}`, {
    kind: "ending",
    ending: {
      threadId,
      status,
      threadStatus: status === "success" ? "idle" : "error",
      error: status === "success" ? null : "{}",
      values: "{}",
      interrupts: "{}",
      deletesThread: false,
      events: [],
      eventsOfRollback: [],
    },
  })

const stop = ({ run_id: runId }: Run, which: number, action: CancelAction): Step => ({
  name: `cancel of run ${which + 1} (${action})`,
  take: async (db) => ({ wakes: (await stopRun(db, { threadId, runId, action, reason: "asked" })).waiting !== null }),
})

const remove = ({ run_id: runId }: Run, which: number): Step => ({
  name: `deletion of run ${which + 1}`,
  take: async (db) => {
    await deleteRun(db, threadId, runId)
    return {}
  },
})

/** What can happen in a state. Of the claims of a run that no longer hold, only the newest one acts: the others are like it. */
function stepsIn({ runs }: Facts, given: readonly Given[], mayCreate: boolean): Step[] {
  const steps: Step[] = []
  if (mayCreate) for (const strategy of strategiesFor(runs)) steps.push(create(strategy))
  if (runs.some(({ status }) => status === "pending"))
    for (const server of [0, 1] as const) for (const alone of [false, true]) steps.push(claim(server, alone))
  for (const server of [0, 1] as const) {
    const held = runs.filter(({ status, claimed_by }) => status === "running" && claimed_by === servers[server])
    if (held.length === 0) continue
    if (held.some(({ is_expired }) => !is_expired)) steps.push(silence(server))
    else steps.push(renew(server, held), takeBack(server, "lease_ended"))
    if (held.some(({ is_old }) => is_old)) steps.push(takeBack(server, "abandoned"))
    steps.push(takeBack(server, "server_restarted"))
  }
  for (const [which, run] of runs.entries()) {
    steps.push(stop(run, which, "interrupt"), stop(run, which, "rollback"))
    if (isFinal(run.status)) steps.push(remove(run, which))
  }
  for (const by of lastTwo(given)) {
    steps.push(write(by, "saves a checkpoint", { kind: "checkpoint", checkpoint: checkpointOf(by) }))
    steps.push(end(by, "success"), end(by, "error"))
    for (const ending of ["handed_back", "worker_died", "worker_blocked", "shared_worker_died"] as const)
      steps.push(release(by, ending))
  }
  return steps
}

const strategiesFor = (runs: readonly Run[]): readonly MultitaskStrategy[] =>
  runs.some(({ status }) => !isFinal(status)) ? ["enqueue", "interrupt", "rollback", "reject"] : ["enqueue"]

function lastTwo(given: readonly Given[]): Given[] {
  const byRun = new Map<string, Given[]>()
  for (const one of given) byRun.set(one.runId, [...(byRun.get(one.runId) ?? []).slice(-1), one])
  return [...byRun.values()].flat()
}

const startable = ({ runs }: Facts): string | undefined =>
  runs.some(({ status }) => status === "running") ? undefined : runs.find(({ status }) => status === "pending")?.run_id

/** What each step keeps. */
function check(before: Facts, after: Facts, { by }: Step, outcome: Outcome, given: readonly Given[]): void {
  const running = after.runs.filter(({ status }) => status === "running")
  assert.ok(running.length <= 1, "R2: a thread has one running run")
  for (const run of after.runs) {
    const claim = [run.claim_id, run.claimed_by, run.is_old]
    const isOne = claim.every((part) => (run.status === "running" ? part !== null : part === null))
    assert.ok(isOne, "R1: a run has a claim while it executes, and only then")
    assert.ok(isFinal(run.status) || run.losses < 3, "R5: a run that was lost three times has ended")
    assert.ok(
      run.status !== "pending" || run.cancel_action === null,
      "R7: a run with a requested stop waits for nothing",
    )
    const was = before.runs.find(({ run_id }) => run_id === run.run_id)
    if (was && isFinal(was.status)) assert.deepEqual(run, was, "a run that is over does not change")
    if (outcome.releases && was?.status === "running" && was.cancel_action !== null && run.status !== "running")
      assert.equal(run.status, "interrupted", "R7: a run with a requested stop ends as such when its attempt is over")
    if (was) assert.ok(run.attempt >= was.attempt, "attempts are counted up")
  }
  for (const runId of Object.keys(after.saved))
    assert.ok(
      after.runs.some(({ run_id }) => run_id === runId),
      "R7: checkpoints go with the run that is rolled back or deleted",
    )
  const isInFlight = after.runs.some(({ status }) => !isFinal(status))
  assert.ok(isInFlight || after.thread !== "busy", "a thread without runs in flight is not busy")
  assert.ok(running.length === 0 || after.thread !== "idle", "a thread whose run executes is not idle")

  for (const one of outcome.given ?? []) {
    assert.ok(!given.some(({ claimId }) => claimId === one.claimId), "R1: a claim is given once")
    assert.ok(
      !given.some(({ runId, attempt }) => runId === one.runId && attempt === one.attempt),
      "R1: an attempt is given once",
    )
    if (before.runs.some(({ run_id }) => run_id === one.runId))
      assert.equal(one.runId, startable(before), "R3: the run that has waited longest starts")
  }
  if (by) {
    const holds = before.runs.some(({ claim_id, status }) => claim_id === by.claimId && status === "running")
    assert.equal(outcome.isLost, !holds, "R4: what names a claim happens while it holds, and only then")
    if (!holds) assert.equal(after.all, before.all, "R4: nothing is written by an attempt whose claim has ended")
  }
  const next = startable(after)
  if (next !== undefined && next !== startable(before) && before.runs.some(({ run_id }) => run_id === next))
    assert.ok(outcome.wakes, "R8: whoever lets a run start tells a server")
}

/** From here on nothing fails: everything that was lost is taken back, claimed and ended. */
async function comesToAnEnd(db: Db): Promise<void> {
  for (let turn = 0; turn < 12; turn++) {
    const { runs } = await readFacts(db)
    if (runs.every(({ status }) => isFinal(status))) return
    for (const server of [0, 1] as const) await takeBack(server, "server_restarted").take(db)
    for (const runsAlone of [true, false]) {
      const { given } = await claim(0, runsAlone).take(db)
      for (const one of given ?? []) await end(one, "success").take(db)
    }
  }
  assert.fail("twelve turns without any failure later, a run is not over")
}

/**
 * @param steps  the length of the longest order
 * @param runs   how many are created at most
 */
async function explore(db: Db, longest: { steps: number; runs: number }) {
  /** How many steps were taken from each state. */
  const seen = new Map<string, number>()
  const counts = { steps: 0, states: 0 }
  const path: string[] = []
  const within = async (work: () => Promise<void>) => {
    await db.run(sql`savepoint before`)
    await work()
    await db.run(sql`rollback to savepoint before`)
    await db.run(sql`release savepoint before`)
  }
  const from = async (before: Facts, given: readonly Given[], created: number, left: number): Promise<void> => {
    for (const step of stepsIn(before, given, created < longest.runs)) {
      path.push(step.name)
      await within(async () => {
        const outcome = await step.take(db)
        const after = await readFacts(db)
        counts.steps++
        check(before, after, step, outcome, given)
        const known = [...given, ...(outcome.given ?? [])]
        const key = keyOf(after, known)
        const explored = seen.get(key)
        if (explored === undefined) {
          counts.states++
          await within(() => comesToAnEnd(db))
        }
        if (explored !== undefined && explored >= left - 1) return
        seen.set(key, left - 1)
        if (left > 1) await from(after, known, created + (step.name.startsWith("create") ? 1 : 0), left - 1)
      })
      path.pop()
    }
  }
  try {
    await from(await readFacts(db), [], 0, longest.steps)
  } catch (cause) {
    throw new Error(`${cause instanceof Error ? cause.message : cause}; after: ${path.join("; ")}`, { cause })
  }
  return counts
}

test("every order of a few steps keeps the rules of the queue, and leads to the end of all runs", async (t: TestContext) => {
  await using database = await freshDatabase({ migrations })
  const longest = { steps: runsLongTests ? 6 : runsWideTests ? 5 : 4, runs: 2 }

  const counts = await database.transaction((tx) => explore(tx, longest))

  t.diagnostic(`${counts.states} states, ${counts.steps} steps`)
  assert.ok(counts.states > 100, "steps lead to states")
})

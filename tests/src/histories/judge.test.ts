/** The judge on planted histories: it finds each fault, and passes each good history. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Call, Operation, Outcome, Strategy } from "./call.js"
import { judgeHistory } from "./judge.js"
import { judgeReads } from "./reads.js"

const ok: Outcome = { is: "ok" }
const shows = (log: string, question?: string): Outcome => ({
  is: "ok",
  value: { log: log === "" ? [] : log.split(" "), ...(question !== undefined && { question }) },
})
/** The last id is of a super-step that is not committed. */
const showsWritten = (log: string): Outcome => ({ is: "ok", value: { log: log.split(" "), uncommitted: 1 } })
const has = (status: string, isInputSaved?: boolean): Outcome => ({
  is: "ok",
  value: { status, ...(isInputSaved !== undefined && { isInputSaved }) },
})
const refused = (status: number): Outcome => ({ is: "refused", status })
const unknown: Outcome = { is: "unknown" }

const create = (run: string, strategy: Strategy = "enqueue", steps = 1, asks = false): Operation => ({
  op: "create",
  run,
  task: { name: run, steps, asks },
  strategy,
})

/** A call of client `a` in the next ten milliseconds, or of another client at other times. */
type Line = readonly [Operation, Outcome, { readonly by?: string; readonly from: number; readonly to: number }?]

function historyOf(lines: readonly Line[]): Call[] {
  return lines.map(([what, outcome, at], index) => ({
    thread: "t",
    client: at?.by ?? "a",
    what,
    calledAt: at?.from ?? index * 10,
    returnedAt: outcome.is === "unknown" ? Number.POSITIVE_INFINITY : (at?.to ?? index * 10 + 5),
    outcome,
  }))
}

const state: Operation = { op: "state" }
const run = (name: string): Operation => ({ op: "run", run: name })
const over = (name: string): Operation => ({ op: "over", run: name })
const cancel = (name: string, action: "interrupt" | "rollback" = "interrupt"): Operation => ({
  op: "cancel",
  run: name,
  action,
})
const update = (entry: string): Operation => ({ op: "update", entry })

const told = (...line: Line): Line => line
const does = (what: Operation): Line => [what, ok]
const creates = (...args: Parameters<typeof create>): Line => does(create(...args))
const ends = (name: string): Line => does(over(name))
const cancels = (...args: Parameters<typeof cancel>): Line => does(cancel(...args))
const updates = (entry: string): Line => does(update(entry))
const reads = (...args: Parameters<typeof shows>): Line => [state, shows(...args)]
const runIs = (name: string, ...args: Parameters<typeof has>): Line => [run(name), has(...args)]

const bad: Readonly<Record<string, readonly Line[]>> = {
  "a lost update": [updates("u1"), updates("u2"), reads("u2")],
  "a lost turn: the next run continued from the state before it": [
    creates("x"),
    ends("x"),
    creates("y"),
    ends("y"),
    reads("y/in#1 y/0#1"),
  ],
  "an entry twice": [creates("x"), reads("x/in#0 x/0#1 x/0#2")],
  "a run that appends after its cancel was over": [
    creates("x", "enqueue", 3),
    reads("x/in#0"),
    cancels("x"),
    ends("x"),
    reads("x/in#0"),
    reads("x/in#0 x/0#1 x/1#1"),
  ],
  "a run that is back after its rollback": [
    creates("x", "enqueue", 3),
    cancels("x", "rollback"),
    told(run("x"), refused(404)),
    reads("x/in#0"),
  ],
  "a stale read": [updates("u1"), reads("")],
  "an order that nobody asked for": [creates("x"), creates("y"), reads("y/in#0 y/0#1 x/in#0 x/0#1")],
  "an entry that nobody asked for": [creates("x"), reads("x/in#0 z/0#1")],
  "a run on a busy thread that the strategy rejects": [
    creates("x", "enqueue", 2),
    creates("y", "reject"),
    runIs("x", "running"),
  ],
  "a refusal although the thread is idle": [creates("x"), ends("x"), told(create("y", "reject"), refused(409))],
  "a run that was acknowledged and never existed": [creates("x"), told(run("x"), refused(404))],
  "a run that succeeded with half of its entries": [
    creates("x", "enqueue", 3),
    runIs("x", "success"),
    reads("x/in#0 x/0#1"),
  ],
  "a run that is over and runs again": [creates("x"), ends("x"), runIs("x", "running")],
  "an update of a busy thread": [creates("x", "enqueue", 3), updates("u"), runIs("x", "running")],
  "a question that was answered and is still open": [
    creates("x", "enqueue", 1, true),
    reads("x/in#0 x/0#1", "x"),
    does({ op: "resume", run: "y", strategy: "enqueue" }),
    runIs("y", "success"),
    reads("x/in#0 x/0#1 y/answer#1", "x"),
  ],
  "two answers to one question": [
    creates("x", "enqueue", 1, true),
    ends("x"),
    does({ op: "respond", run: "y", about: "x" }),
    ends("y"),
    does({ op: "respond", run: "z", about: "x" }),
  ],
  "a copy without what was acknowledged": [updates("u1"), told({ op: "copy" }, shows(""))],
  "a thread that lives after its deletion": [updates("u1"), does({ op: "delete" }), reads("u1")],
  "a committed entry that is gone when its run was stopped": [
    creates("x", "enqueue", 3),
    reads("x/in#0 x/0#1"),
    cancels("x"),
    ends("x"),
    creates("y"),
    ends("y"),
    reads("x/in#0 y/in#0 y/0#1"),
  ],
  "pruning that loses the state": [updates("u1"), does({ op: "prune" }), reads("")],
  "the result of a run that ended well shows what the thread does not keep": [
    creates("x", "enqueue", 2),
    ends("x"),
    runIs("x", "success"),
    told({ op: "result", run: "x" }, shows("x/in#0 x/0#1 x/1#1")),
    creates("y"),
    ends("y"),
    reads("x/in#0 x/0#1 y/in#0 y/0#1"),
  ],
  "a result from before the run": [updates("u1"), creates("x"), told({ op: "result", run: "x" }, shows("u1"))],
  "an input that is lost although the run says it is saved": [
    creates("x", "enqueue", 2),
    cancels("x"),
    runIs("x", "interrupted", true),
    creates("y"),
    ends("y"),
    reads("y/in#0 y/0#1"),
    runIs("x", "interrupted", false),
  ],
}

for (const [what, lines] of Object.entries(bad))
  test(`the judge finds ${what}`, () => {
    const { faults, undecided } = judgeHistory(historyOf(lines))

    assert.ok(
      faults.some((fault) => fault.includes("no order explains")),
      faults.join("\n"),
    )
    assert.deepEqual(undecided, [])
  })

const good: Readonly<Record<string, readonly Line[]>> = {
  "turns one after the other": [
    creates("x"),
    creates("y"),
    reads("x/in#0"),
    reads("x/in#0 x/0#2 y/in#0"),
    ends("y"),
    reads("x/in#0 x/0#2 y/in#0 y/0#1"),
    runIs("x", "success", true),
  ],
  "two writers whose calls overlap, in either order": [
    told(create("x"), ok, { from: 0, to: 50 }),
    told(create("y"), ok, { by: "b", from: 10, to: 20 }),
    told(state, shows("y/in#0 y/0#1 x/in#0 x/0#1"), { from: 60, to: 70 }),
  ],
  "a lost reply of what happened later": [
    told(update("u1"), unknown, { from: 0, to: 0 }),
    told(state, shows(""), { by: "b", from: 10, to: 20 }),
    told(state, shows("u1"), { by: "b", from: 30, to: 40 }),
  ],
  "a lost reply of what never happened": [
    told(create("x", "rollback"), unknown, { from: 0, to: 0 }),
    told(update("u1"), ok, { by: "b", from: 10, to: 20 }),
    told(state, shows("u1"), { by: "b", from: 30, to: 40 }),
  ],
  "a run that takes the place of another, which keeps what it saved": [
    creates("x", "enqueue", 5),
    reads("x/in#0 x/0#1"),
    creates("y", "interrupt"),
    ends("y"),
    runIs("x", "interrupted", true),
    reads("x/in#0 x/0#1 x/1#1 y/in#0 y/0#1"),
  ],
  "a rollback takes back all of a run and keeps what was before": [
    updates("u1"),
    creates("x", "enqueue", 5),
    reads("u1 x/in#0 x/0#1"),
    creates("y", "rollback"),
    ends("y"),
    told(run("x"), refused(404)),
    reads("u1 y/in#0 y/0#1"),
  ],
  "what waits is interrupted without its input": [
    creates("x", "enqueue", 5),
    creates("y"),
    creates("z", "interrupt"),
    runIs("y", "interrupted", false),
    ends("z"),
    reads("x/in#0 z/in#0 z/0#1"),
  ],
  "a question, an answer, and an answer that came too late": [
    creates("x", "enqueue", 1, true),
    reads("x/in#0 x/0#1", "x"),
    told({ op: "respond", run: "y", about: "x" }, ok, { from: 20, to: 40 }),
    told({ op: "respond", run: "z", about: "x" }, refused(409), { by: "b", from: 21, to: 39 }),
    told(run("y"), has("success"), { from: 50, to: 60 }),
    told(state, shows("x/in#0 x/0#1 y/answer#1"), { from: 70, to: 80 }),
  ],
  "a rolled-back answer leaves its question open": [
    creates("x", "enqueue", 1, true),
    ends("x"),
    does({ op: "resume", run: "y", strategy: "enqueue" }),
    cancels("y", "rollback"),
    told(run("y"), refused(404)),
    reads("x/in#0 x/0#1", "x"),
  ],
  "an answer to a run that was stopped goes on with it": [
    creates("x", "enqueue", 3),
    reads("x/in#0 x/0#1"),
    cancels("x"),
    ends("x"),
    reads("x/in#0 x/0#1"),
    does({ op: "resume", run: "y", strategy: "enqueue" }),
    ends("y"),
    reads("x/in#0 x/0#1 x/1#1 x/2#1"),
  ],
  "`run.start` answers where a question is open": [
    creates("x", "enqueue", 0, true),
    ends("x"),
    does({ op: "start", run: "y", task: { name: "y", steps: 2, asks: false }, strategy: "reject" }),
    ends("y"),
    reads("x/in#0 y/answer#1"),
  ],
  "what a stopped super-step had not committed is shown, and dropped by the next input": [
    creates("x", "enqueue", 3),
    cancels("x"),
    ends("x"),
    told(state, showsWritten("x/in#1")),
    creates("y"),
    ends("y"),
    reads("y/in#0 y/0#1"),
  ],
  "what a super-step has written is shown while it executes, and gone when its run was stopped": [
    creates("x", "enqueue", 3),
    told(state, showsWritten("x/in#0 x/0#1")),
    cancels("x"),
    ends("x"),
    told(state, showsWritten("x/in#0 x/0#1")),
    creates("y"),
    ends("y"),
    reads("x/in#0 y/in#0 y/0#1"),
  ],
  "the result of a stopped run shows what its last super-step has written, which another input drops": [
    creates("x", "enqueue", 3),
    creates("y", "interrupt"),
    told({ op: "result", run: "x" }, shows("x/in#0 x/0#1 x/1#1")),
    ends("y"),
    reads("x/in#0 x/0#1 y/in#0 y/0#1"),
  ],
  "a deleted thread, and a new one with its id": [
    updates("u1"),
    does({ op: "delete" }),
    told(state, refused(404)),
    does({ ...create("x"), makesThread: true } as Operation),
    ends("x"),
    told({ op: "copy" }, shows("x/in#0 x/0#1")),
  ],
}

for (const [what, lines] of Object.entries(good))
  test(`the judge accepts ${what}`, () => {
    const judgement = judgeHistory(historyOf(lines))

    assert.deepEqual([judgement.faults, judgement.undecided], [[], []])
  })

test("the reads alone show a repeat, two orders, a state that shrinks and an entry that is missing", () => {
  const faults = (lines: readonly Line[]) => judgeReads(historyOf(lines)).join("\n")

  assert.match(faults([reads("x/0#1 x/0#2")]), /x\/0 is in the state twice/)
  assert.match(faults([reads("x y"), reads("y x")]), /disagree on the order of/)
  assert.match(faults([reads("x#1"), reads("x#2")]), /by different attempts/)
  assert.match(faults([reads("x y"), reads("x")]), /not a continuation/)
  assert.match(faults([updates("u1"), reads("")]), /u1 was acknowledged/)
  assert.deepEqual(faults([reads("x y"), cancels("y", "rollback"), reads("x")]), "")
})

test("the explanation is the shortest impossible prefix, with a picture of its calls", () => {
  const [fault = ""] = judgeHistory(
    historyOf([
      updates("u1"),
      told(update("u2"), unknown, { by: "b", from: 12, to: 0 }),
      told(create("x"), ok, { from: 20, to: 30 }),
      told({ op: "copy" }, shows("u2 x/in#0"), { by: "c", from: 50, to: 60 }),
      told(state, shows("u1 x/in#0 x/0#1"), { from: 70, to: 80 }),
    ]),
  ).faults.filter((each) => each.includes("no order"))

  assert.match(fault, /these 4 calls/)
  assert.match(fault, /▶ +50 ms +├─+┤ +c copy → \[u2 x\/in#0\]/)
  assert.match(fault, /b update u2 → unknown/)
  assert.match(fault, /then impossible: copy/)
})

test("a history that needs more than the budget is undecided, not good", () => {
  const writers = Array.from({ length: 12 }, (_, n) => told(update(`u${n}`), ok, { by: `${n}`, from: 0, to: 100 }))

  const { undecided, faults } = judgeHistory(
    historyOf([...writers, told(state, shows(""), { from: 200, to: 210 })]),
    1000,
  )

  assert.deepEqual(undecided, ["t"])
  const unexplained = faults.filter((fault) => fault.includes("no order"))
  assert.deepEqual(unexplained, [])
})

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

const bad: Readonly<Record<string, readonly Line[]>> = {
  "a lost update": [
    [update("u1"), ok],
    [update("u2"), ok],
    [state, shows("u2")],
  ],
  "a lost turn: the next run continued from the state before it": [
    [create("x"), ok],
    [over("x"), ok],
    [create("y"), ok],
    [over("y"), ok],
    [state, shows("y/in#1 y/0#1")],
  ],
  "an entry twice": [
    [create("x"), ok],
    [state, shows("x/in#0 x/0#1 x/0#2")],
  ],
  "a run that appends after its cancel was over": [
    [create("x", "enqueue", 3), ok],
    [state, shows("x/in#0")],
    [cancel("x"), ok],
    [over("x"), ok],
    [state, shows("x/in#0")],
    [state, shows("x/in#0 x/0#1 x/1#1")],
  ],
  "a run that is back after its rollback": [
    [create("x", "enqueue", 3), ok],
    [cancel("x", "rollback"), ok],
    [run("x"), refused(404)],
    [state, shows("x/in#0")],
  ],
  "a stale read": [
    [update("u1"), ok],
    [state, shows("")],
  ],
  "an order that nobody asked for": [
    [create("x"), ok],
    [create("y"), ok],
    [state, shows("y/in#0 y/0#1 x/in#0 x/0#1")],
  ],
  "an entry that nobody asked for": [
    [create("x"), ok],
    [state, shows("x/in#0 z/0#1")],
  ],
  "a run on a busy thread that the strategy rejects": [
    [create("x", "enqueue", 2), ok],
    [create("y", "reject"), ok],
    [run("x"), has("running")],
  ],
  "a refusal although the thread is idle": [
    [create("x"), ok],
    [over("x"), ok],
    [create("y", "reject"), refused(409)],
  ],
  "a run that was acknowledged and never existed": [
    [create("x"), ok],
    [run("x"), refused(404)],
  ],
  "a run that succeeded with half of its entries": [
    [create("x", "enqueue", 3), ok],
    [run("x"), has("success")],
    [state, shows("x/in#0 x/0#1")],
  ],
  "a run that is over and runs again": [
    [create("x"), ok],
    [over("x"), ok],
    [run("x"), has("running")],
  ],
  "an update of a busy thread": [
    [create("x", "enqueue", 3), ok],
    [update("u"), ok],
    [run("x"), has("running")],
  ],
  "a question that was answered and is still open": [
    [create("x", "enqueue", 1, true), ok],
    [state, shows("x/in#0 x/0#1", "x")],
    [{ op: "resume", run: "y", strategy: "enqueue" }, ok],
    [run("y"), has("success")],
    [state, shows("x/in#0 x/0#1 y/answer#1", "x")],
  ],
  "two answers to one question": [
    [create("x", "enqueue", 1, true), ok],
    [over("x"), ok],
    [{ op: "respond", run: "y", about: "x" }, ok],
    [over("y"), ok],
    [{ op: "respond", run: "z", about: "x" }, ok],
  ],
  "a copy without what was acknowledged": [
    [update("u1"), ok],
    [{ op: "copy" }, shows("")],
  ],
  "a thread that lives after its deletion": [
    [update("u1"), ok],
    [{ op: "delete" }, ok],
    [state, shows("u1")],
  ],
  "a committed entry that is gone when its run was stopped": [
    [create("x", "enqueue", 3), ok],
    [state, shows("x/in#0 x/0#1")],
    [cancel("x"), ok],
    [over("x"), ok],
    [create("y"), ok],
    [over("y"), ok],
    [state, shows("x/in#0 y/in#0 y/0#1")],
  ],
  "pruning that loses the state": [
    [update("u1"), ok],
    [{ op: "prune" }, ok],
    [state, shows("")],
  ],
  "the result of a run that ended well shows what the thread does not keep": [
    [create("x", "enqueue", 2), ok],
    [over("x"), ok],
    [run("x"), has("success")],
    [{ op: "result", run: "x" }, shows("x/in#0 x/0#1 x/1#1")],
    [create("y"), ok],
    [over("y"), ok],
    [state, shows("x/in#0 x/0#1 y/in#0 y/0#1")],
  ],
  "a result from before the run": [
    [update("u1"), ok],
    [create("x"), ok],
    [{ op: "result", run: "x" }, shows("u1")],
  ],
  "an input that is lost although the run says it is saved": [
    [create("x", "enqueue", 2), ok],
    [cancel("x"), ok],
    [run("x"), has("interrupted", true)],
    [create("y"), ok],
    [over("y"), ok],
    [state, shows("y/in#0 y/0#1")],
    [run("x"), has("interrupted", false)],
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
    [create("x"), ok],
    [create("y"), ok],
    [state, shows("x/in#0")],
    [state, shows("x/in#0 x/0#2 y/in#0")],
    [over("y"), ok],
    [state, shows("x/in#0 x/0#2 y/in#0 y/0#1")],
    [run("x"), has("success", true)],
  ],
  "two writers whose calls overlap, in either order": [
    [create("x"), ok, { from: 0, to: 50 }],
    [create("y"), ok, { by: "b", from: 10, to: 20 }],
    [state, shows("y/in#0 y/0#1 x/in#0 x/0#1"), { from: 60, to: 70 }],
  ],
  "a lost reply of what happened later": [
    [update("u1"), unknown, { from: 0, to: 0 }],
    [state, shows(""), { by: "b", from: 10, to: 20 }],
    [state, shows("u1"), { by: "b", from: 30, to: 40 }],
  ],
  "a lost reply of what never happened": [
    [create("x", "rollback"), unknown, { from: 0, to: 0 }],
    [update("u1"), ok, { by: "b", from: 10, to: 20 }],
    [state, shows("u1"), { by: "b", from: 30, to: 40 }],
  ],
  "a run that takes the place of another, which keeps what it saved": [
    [create("x", "enqueue", 5), ok],
    [state, shows("x/in#0 x/0#1")],
    [create("y", "interrupt"), ok],
    [over("y"), ok],
    [run("x"), has("interrupted", true)],
    [state, shows("x/in#0 x/0#1 x/1#1 y/in#0 y/0#1")],
  ],
  "a rollback takes back all of a run and keeps what was before": [
    [update("u1"), ok],
    [create("x", "enqueue", 5), ok],
    [state, shows("u1 x/in#0 x/0#1")],
    [create("y", "rollback"), ok],
    [over("y"), ok],
    [run("x"), refused(404)],
    [state, shows("u1 y/in#0 y/0#1")],
  ],
  "what waits is interrupted without its input": [
    [create("x", "enqueue", 5), ok],
    [create("y"), ok],
    [create("z", "interrupt"), ok],
    [run("y"), has("interrupted", false)],
    [over("z"), ok],
    [state, shows("x/in#0 z/in#0 z/0#1")],
  ],
  "a question, an answer, and an answer that came too late": [
    [create("x", "enqueue", 1, true), ok],
    [state, shows("x/in#0 x/0#1", "x")],
    [{ op: "respond", run: "y", about: "x" }, ok, { from: 20, to: 40 }],
    [{ op: "respond", run: "z", about: "x" }, refused(409), { by: "b", from: 21, to: 39 }],
    [run("y"), has("success"), { from: 50, to: 60 }],
    [state, shows("x/in#0 x/0#1 y/answer#1"), { from: 70, to: 80 }],
  ],
  "a rolled-back answer leaves its question open": [
    [create("x", "enqueue", 1, true), ok],
    [over("x"), ok],
    [{ op: "resume", run: "y", strategy: "enqueue" }, ok],
    [cancel("y", "rollback"), ok],
    [run("y"), refused(404)],
    [state, shows("x/in#0 x/0#1", "x")],
  ],
  "an answer to a run that was stopped goes on with it": [
    [create("x", "enqueue", 3), ok],
    [state, shows("x/in#0 x/0#1")],
    [cancel("x"), ok],
    [over("x"), ok],
    [state, shows("x/in#0 x/0#1")],
    [{ op: "resume", run: "y", strategy: "enqueue" }, ok],
    [over("y"), ok],
    [state, shows("x/in#0 x/0#1 x/1#1 x/2#1")],
  ],
  "`run.start` answers where a question is open": [
    [create("x", "enqueue", 0, true), ok],
    [over("x"), ok],
    [{ op: "start", run: "y", task: { name: "y", steps: 2, asks: false }, strategy: "reject" }, ok],
    [over("y"), ok],
    [state, shows("x/in#0 y/answer#1")],
  ],
  "what a stopped super-step had not committed is shown, and dropped by the next input": [
    [create("x", "enqueue", 3), ok],
    [cancel("x"), ok],
    [over("x"), ok],
    [state, showsWritten("x/in#1")],
    [create("y"), ok],
    [over("y"), ok],
    [state, shows("y/in#0 y/0#1")],
  ],
  "what a super-step has written is shown while it executes, and gone when its run was stopped": [
    [create("x", "enqueue", 3), ok],
    [state, showsWritten("x/in#0 x/0#1")],
    [cancel("x"), ok],
    [over("x"), ok],
    [state, showsWritten("x/in#0 x/0#1")],
    [create("y"), ok],
    [over("y"), ok],
    [state, shows("x/in#0 y/in#0 y/0#1")],
  ],
  "the result of a stopped run shows what its last super-step has written, which another input drops": [
    [create("x", "enqueue", 3), ok],
    [create("y", "interrupt"), ok],
    [{ op: "result", run: "x" }, shows("x/in#0 x/0#1 x/1#1")],
    [over("y"), ok],
    [state, shows("x/in#0 x/0#1 y/in#0 y/0#1")],
  ],
  "a deleted thread, and a new one with its id": [
    [update("u1"), ok],
    [{ op: "delete" }, ok],
    [state, refused(404)],
    [{ ...create("x"), makesThread: true } as Operation, ok],
    [over("x"), ok],
    [{ op: "copy" }, shows("x/in#0 x/0#1")],
  ],
}

for (const [what, lines] of Object.entries(good))
  test(`the judge accepts ${what}`, () => {
    const judgement = judgeHistory(historyOf(lines))

    assert.deepEqual([judgement.faults, judgement.undecided], [[], []])
  })

test("the reads alone show a repeat, two orders, a state that shrinks and an entry that is missing", () => {
  const faults = (lines: readonly Line[]) => judgeReads(historyOf(lines)).join("\n")

  assert.match(faults([[state, shows("x/0#1 x/0#2")]]), /x\/0 is in the state twice/)
  assert.match(
    faults([
      [state, shows("x y")],
      [state, shows("y x")],
    ]),
    /disagree on the order of/,
  )
  assert.match(
    faults([
      [state, shows("x#1")],
      [state, shows("x#2")],
    ]),
    /by different attempts/,
  )
  assert.match(
    faults([
      [state, shows("x y")],
      [state, shows("x")],
    ]),
    /not a continuation/,
  )
  assert.match(
    faults([
      [update("u1"), ok],
      [state, shows("")],
    ]),
    /u1 was acknowledged/,
  )
  assert.deepEqual(
    faults([
      [state, shows("x y")],
      [cancel("y", "rollback"), ok],
      [state, shows("x")],
    ]),
    "",
  )
})

test("the explanation is the shortest impossible prefix, with a picture of its calls", () => {
  const [fault = ""] = judgeHistory(
    historyOf([
      [update("u1"), ok],
      [update("u2"), unknown, { by: "b", from: 12, to: 0 }],
      [create("x"), ok, { from: 20, to: 30 }],
      [{ op: "copy" }, shows("u2 x/in#0"), { by: "c", from: 50, to: 60 }],
      [state, shows("u1 x/in#0 x/0#1"), { from: 70, to: 80 }],
    ]),
  ).faults.filter((each) => each.includes("no order"))

  assert.match(fault, /these 4 calls/)
  assert.match(fault, /▶ +50 ms +├─+┤ +c copy → \[u2 x\/in#0\]/)
  assert.match(fault, /b update u2 → unknown/)
  assert.match(fault, /then impossible: copy/)
})

test("a history that needs more than the budget is undecided, not good", () => {
  const writers = Array.from({ length: 12 }, (_, n): Line => [update(`u${n}`), ok, { by: `${n}`, from: 0, to: 100 }])

  const { undecided, faults } = judgeHistory(historyOf([...writers, [state, shows(""), { from: 200, to: 210 }]]), 1000)

  assert.deepEqual(undecided, ["t"])
  assert.deepEqual(
    faults.filter((fault) => fault.includes("no order")),
    [],
  )
})

/** The judge on planted histories: it finds each fault, and passes each good history. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Call, Operation, Outcome } from "./call.js"
import { judgeHistory } from "./judge.js"
import { judgeReads } from "./reads.js"

const callParts =
  /^(?:(?<by>\w*)@(?<from>\d+)-(?<to>\d+) )?(?<op>\w+)(?<words>[^=:→]*)(?:=(?<log>[^?]*)(?:\? (?<question>\w+))?)?(?:: (?<status>\w+) ?(?<saved>\w*))?(?:→ (?<end>\w+))?$/

/**
 * Calls with `;` between them: `b@10-20 create x reject 3 asks` is one of client `b` between these milliseconds, without them one of `a` in the
 * next ten. After it is what it showed: `= ids ? open question`, with `~` behind a last id that is not committed; `: status saved`, or `unsaved`;
 * `→ 404`, a refusal; `→ unknown`.
 */
const historyOf = (text: string): Call[] =>
  text.split(/;\s*/).map((call, index) => {
    const { by, from, to, op = "", words = "", ...shown } = callParts.exec(call)?.groups ?? assert.fail(call)
    const outcome = outcomeOf(shown)
    return {
      thread: "t",
      client: by || "a",
      what: operationOf(op, words.split(" ").filter(Boolean)),
      calledAt: Number(from ?? index * 10),
      returnedAt: outcome.is === "unknown" ? Number.POSITIVE_INFINITY : Number(to ?? index * 10 + 5),
      outcome,
    }
  })

function operationOf(op: string, [run = "", ...more]: readonly string[]): Operation {
  const has = (word: string) => more.includes(word)
  const strategy = (["reject", "interrupt", "rollback"] as const).find(has) ?? "enqueue"
  const task = { name: run, steps: Number(more.find((word) => /^\d$/.test(word)) ?? 1), asks: has("asks") }
  switch (op) {
    case "create":
      return { op, run, task, strategy, ...(has("makesThread") && { makesThread: true }) }
    case "start":
      return { op, run, task, strategy }
    case "resume":
      return { op, run, strategy }
    case "respond":
      return { op, run, about: more[0] ?? "" }
    case "cancel":
      return { op, run, action: has("rollback") ? "rollback" : "interrupt" }
    case "update":
      return { op, entry: run }
    default:
      assert.match(op, /^(over|run|result|state|copy|delete|prune)$/)
      return { op, ...(run !== "" && { run }) } as Operation
  }
}

function outcomeOf({ log, question, status, saved, end }: Readonly<Record<string, string | undefined>>): Outcome {
  if (end !== undefined) return end === "unknown" ? { is: end } : { is: "refused", status: Number(end) }
  if (status !== undefined) return { is: "ok", value: { status, ...(saved && { isInputSaved: saved === "saved" }) } }
  if (log === undefined) return { is: "ok" }
  const ids = log.replace("~", "").split(" ").filter(Boolean)
  return { is: "ok", value: { log: ids, ...(question && { question }), ...(log.includes("~") && { uncommitted: 1 }) } }
}

const bad: Readonly<Record<string, string>> = {
  "a lost update": "update u1; update u2; state = u2",
  "a lost turn: the next run continued from the state before it":
    "create x; over x; create y; over y; state = y/in#1 y/0#1",
  "an entry twice": "create x; state = x/in#0 x/0#1 x/0#2",
  "a run that appends after its cancel was over":
    "create x 3; state = x/in#0; cancel x; over x; state = x/in#0; state = x/in#0 x/0#1 x/1#1",
  "a run that is back after its rollback": "create x 3; cancel x rollback; run x → 404; state = x/in#0",
  "a stale read": "update u1; state =",
  "an order that nobody asked for": "create x; create y; state = y/in#0 y/0#1 x/in#0 x/0#1",
  "an entry that nobody asked for": "create x; state = x/in#0 z/0#1",
  "a run on a busy thread that the strategy rejects": "create x 2; create y reject; run x: running",
  "a refusal although the thread is idle": "create x; over x; create y reject → 409",
  "a run that was acknowledged and never existed": "create x; run x → 404",
  "a run that succeeded with half of its entries": "create x 3; run x: success; state = x/in#0 x/0#1",
  "a run that is over and runs again": "create x; over x; run x: running",
  "an update of a busy thread": "create x 3; update u; run x: running",
  "a question that was answered and is still open": `create x asks; state = x/in#0 x/0#1 ? x; resume y; run y: success;
    state = x/in#0 x/0#1 y/answer#1 ? x`,
  "two answers to one question": "create x asks; over x; respond y x; over y; respond z x",
  "a copy without what was acknowledged": "update u1; copy =",
  "a thread that lives after its deletion": "update u1; delete; state = u1",
  "a committed entry that is gone when its run was stopped":
    "create x 3; state = x/in#0 x/0#1; cancel x; over x; create y; over y; state = x/in#0 y/in#0 y/0#1",
  "pruning that loses the state": "update u1; prune; state =",
  "the result of a run that ended well shows what the thread does not keep": `create x 2; over x; run x: success;
    result x = x/in#0 x/0#1 x/1#1; create y; over y; state = x/in#0 x/0#1 y/in#0 y/0#1`,
  "a result from before the run": "update u1; create x; result x = u1",
  "an input that is lost although the run says it is saved": `create x 2; cancel x; run x: interrupted saved; create y; over y;
    state = y/in#0 y/0#1; run x: interrupted unsaved`,
}

for (const [what, calls] of Object.entries(bad))
  test(`the judge finds ${what}`, () => {
    const { faults, undecided } = judgeHistory(historyOf(calls))

    assert.ok(
      faults.some((fault) => fault.includes("no order explains")),
      faults.join("\n"),
    )
    assert.deepEqual(undecided, [])
  })

const good: Readonly<Record<string, string>> = {
  "turns one after the other": `create x; create y; state = x/in#0; state = x/in#0 x/0#2 y/in#0; over y;
    state = x/in#0 x/0#2 y/in#0 y/0#1; run x: success saved`,
  "two writers whose calls overlap, in either order":
    "@0-50 create x; b@10-20 create y; @60-70 state = y/in#0 y/0#1 x/in#0 x/0#1",
  "a lost reply of what happened later": "@0-0 update u1 → unknown; b@10-20 state =; b@30-40 state = u1",
  "a lost reply of what never happened": "@0-0 create x rollback → unknown; b@10-20 update u1; b@30-40 state = u1",
  "a run that takes the place of another, which keeps what it saved": `create x 5; state = x/in#0 x/0#1; create y interrupt; over y;
    run x: interrupted saved; state = x/in#0 x/0#1 x/1#1 y/in#0 y/0#1`,
  "a rollback takes back all of a run and keeps what was before": `update u1; create x 5; state = u1 x/in#0 x/0#1; create y rollback;
    over y; run x → 404; state = u1 y/in#0 y/0#1`,
  "what waits is interrupted without its input": `create x 5; create y; create z interrupt; run y: interrupted unsaved; over z;
    state = x/in#0 z/in#0 z/0#1`,
  "a question, an answer, and an answer that came too late": `create x asks; state = x/in#0 x/0#1 ? x; @20-40 respond y x;
    b@21-39 respond z x → 409; @50-60 run y: success; @70-80 state = x/in#0 x/0#1 y/answer#1`,
  "a rolled-back answer leaves its question open":
    "create x asks; over x; resume y; cancel y rollback; run y → 404; state = x/in#0 x/0#1 ? x",
  "an answer to a run that was stopped goes on with it": `create x 3; state = x/in#0 x/0#1; cancel x; over x; state = x/in#0 x/0#1;
    resume y; over y; state = x/in#0 x/0#1 x/1#1 x/2#1`,
  "`run.start` answers where a question is open":
    "create x 0 asks; over x; start y reject 2; over y; state = x/in#0 y/answer#1",
  "what a stopped super-step had not committed is shown, and dropped by the next input":
    "create x 3; cancel x; over x; state = x/in#1~; create y; over y; state = y/in#0 y/0#1",
  "what a super-step has written is shown while it executes, and gone when its run was stopped": `create x 3; state = x/in#0 x/0#1~;
    cancel x; over x; state = x/in#0 x/0#1~; create y; over y; state = x/in#0 y/in#0 y/0#1`,
  "the result of a stopped run shows what its last super-step has written, which another input drops": `create x 3; create y interrupt;
    result x = x/in#0 x/0#1 x/1#1; over y; state = x/in#0 x/0#1 y/in#0 y/0#1`,
  "a deleted thread, and a new one with its id":
    "update u1; delete; state → 404; create x makesThread; over x; copy = x/in#0 x/0#1",
}

for (const [what, calls] of Object.entries(good))
  test(`the judge accepts ${what}`, () => {
    const judgement = judgeHistory(historyOf(calls))

    assert.deepEqual([judgement.faults, judgement.undecided], [[], []])
  })

test("the reads alone show a repeat, two orders, a state that shrinks and an entry that is missing", () => {
  const faults = (calls: string) => judgeReads(historyOf(calls)).join("\n")

  assert.match(faults("state = x/0#1 x/0#2"), /x\/0 is in the state twice/)
  assert.match(faults("state = x y; state = y x"), /disagree on the order of/)
  assert.match(faults("state = x#1; state = x#2"), /by different attempts/)
  assert.match(faults("state = x y; state = x"), /not a continuation/)
  assert.match(faults("update u1; state ="), /u1 was acknowledged/)
  assert.deepEqual(faults("state = x y; cancel y rollback; state = x"), "")
})

test("the explanation is the shortest impossible prefix, with a picture of its calls", () => {
  const { faults } = judgeHistory(
    historyOf(`update u1; b@12-0 update u2 → unknown; @20-30 create x; c@50-60 copy = u2 x/in#0;
      @70-80 state = u1 x/in#0 x/0#1`),
  )
  const [fault = ""] = faults.filter((each) => each.includes("no order"))

  assert.match(fault, /these 4 calls/)
  assert.match(fault, /▶ +50 ms +├─+┤ +c copy → \[u2 x\/in#0\]/)
  assert.match(fault, /b update u2 → unknown/)
  assert.match(fault, /then impossible: copy/)
})

test("a history that needs more than the budget is undecided, not good", () => {
  const writers = Array.from({ length: 12 }, (_, n) => `${n}@0-100 update u${n}`)

  const { undecided, faults } = judgeHistory(historyOf([...writers, "@200-210 state ="].join(";")), 1000)

  assert.deepEqual(undecided, ["t"])
  const unexplained = faults.filter((fault) => fault.includes("no order"))
  assert.deepEqual(unexplained, [])
})

/** The judge is only worth something if it finds what is broken. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { ReceivedEvent } from "superstep/prove/event-client"
import { type Conversation, conversationOf, eventsOf, messagesOf } from "./conversation.js"
import type { ThreadFacts } from "./facts.js"
import { judge, type Promised } from "./verdict.js"

const runId = "r1"
const secondAttempt = 1_000_000_000

/** Three super-steps: attempt 1 committed the first and was killed in the second, which attempt 2 executed again. */
const conversation: Conversation = conversationOf({ name: "judged", steps: 3, tokens: 1 })

function eventsOfAttempt(attempt: number, steps: readonly number[], rest: readonly [string, unknown][] = []) {
  const output = steps.flatMap((at) => eventsOf(conversation, 0, at))
  const all: [string, unknown][] = [["metadata", { run_id: runId, attempt }], ...output, ...rest]
  return all.map(([event, data], n): ReceivedEvent => ({ id: (attempt - 1) * secondAttempt + n, event, data }))
}

const end: [string, unknown] = ["end", { run_id: runId, status: "success" }]
const log = [...eventsOfAttempt(1, [0]), ...eventsOfAttempt(2, [1, 2], [end])]

const execution = (step: number, attempt: number, from = `c${step - 1}`) => ({
  ...{ run_id: runId, node: "step", attempt, step, pid: 1 },
  ...{ from, ns: "step:task" },
})
const checkpoint = (step: number, attempt: number) => ({ id: `c${step}`, step, runId, attempt })

const good: ThreadFacts = {
  threadId: "t1",
  status: "idle",
  values: { count: 3, messages: messagesOf(conversation, 0) },
  runs: [{ runId, turn: "judged.0", status: "success", attempt: 2, losses: 1, durability: "sync", error: null }],
  checkpoints: [checkpoint(-1, 1), checkpoint(0, 1), checkpoint(1, 1), checkpoint(2, 2), checkpoint(3, 2)],
  executions: [execution(1, 1), execution(2, 1), execution(2, 2), execution(3, 2)],
  logs: new Map([[runId, log]]),
}

const promisesBroken = (change: Partial<ThreadFacts>, stream: readonly ReceivedEvent[] = log): Promised[] => {
  const seen = { acknowledged: [runId], streams: new Map([[runId, stream]]) }
  return [...new Set(judge(conversation, { ...good, ...change }, seen).map(({ promise }) => promise))]
}

const [run] = good.runs
assert.ok(run)
const messages = messagesOf(conversation, 0)
const again = { executions: [...good.executions, execution(1, 2)] }
// Attempt 1 began its second super-step before its checkpoint of the first was saved, which attempt 2 then saved with another id.
const unsaved = {
  executions: good.executions.map((one) => (one.step === 2 && one.attempt === 1 ? { ...one, from: "c1'" } : one)),
}
const gone = { ...again, checkpoints: good.checkpoints.filter(({ attempt }) => attempt === 2) }
const elsewhere = { executions: good.executions.map((one) => ({ ...one, ns: `other:task|${one.ns}` })) }
const early = { id: 3, event: "custom", data: { at: 1, token: 0 } }

const changes: readonly (readonly [what: string, Partial<ThreadFacts>, Promised[], stream?: ReceivedEvent[]])[] = [
  ["a run that was killed once and went on from its checkpoint is in order", {}, []],
  ["a client has more of a killed attempt than its log", {}, ["hole"], [...log.slice(0, 3), early, ...log.slice(3)]],
  ["a run that hangs is lost", { runs: [{ ...run, status: "running" }], status: "busy" }, ["lost"]],
  ["a run that failed is lost", { runs: [{ ...run, status: "error", error: "{}" }] }, ["lost"]],
  ["an input is applied twice", { values: { count: 3, messages: ["judged.0:in", ...messages] } }, ["state"]],
  ["a message is missing", { values: { count: 3, messages: messages.slice(0, -1) } }, ["state"]],
  ["a step is counted twice", { values: { count: 4, messages } }, ["state"]],
  ["a committed node executes again, by its checkpoint", again, ["repeated"]],
  ["a super-step starts from a checkpoint that is not saved", unsaved, ["unsaved"]],
  ["all checkpoints of an attempt are gone", gone, ["unsaved"]],
  ["what was not committed may execute again", { ...gone, runs: [{ ...run, durability: "async" }] }, []],
  ["a run saves its checkpoints elsewhere than in the root", elsewhere, ["unsaved"]],
  ["a node executes twice in an attempt", { executions: [...good.executions, execution(2, 2)] }, ["repeated"]],
  ["a step is committed twice", { checkpoints: [...good.checkpoints, checkpoint(2, 2)] }, ["repeated"]],
  ["attempts are counted differently", { runs: [{ ...run, attempt: 3 }] }, ["attempt"]],
]

for (const [what, change, broken, stream] of changes)
  test(`judged: ${what}`, () => assert.deepEqual(promisesBroken(change, stream), broken))

test("a run that is gone is lost", () => {
  assert.ok(promisesBroken({ runs: [] }).includes("lost"))
})

test("what is missing in a log or a stream is a hole, and so is what comes twice or is of another run", () => {
  const without = (id: number) => log.filter((event) => event.id !== id)

  for (const { id } of log) assert.ok(promisesBroken({}, without(id)).includes("hole"), `without ${id}`)
  assert.ok(promisesBroken({ logs: new Map([[runId, without(1)]]) }, without(1)).includes("hole"))
  assert.ok(promisesBroken({}, [...log.slice(0, 2), ...log.slice(1)]).includes("hole"))
  const reread = (again: readonly ReceivedEvent[]) =>
    judge(conversation, good, { acknowledged: [], streams: new Map(), reread: new Map([[runId, again]]) }).length
  assert.deepEqual([reread(log), reread(without(1)), reread(log.slice(0, -1))], [0, 1, 1])
  const changed = log.map((event) => (event.id === 1 ? { ...event, data: { at: 0, token: 7 } } : event))
  assert.ok(promisesBroken({ logs: new Map([[runId, changed]]) }, changed).includes("hole"))
})

test("who follows a run from elsewhere is judged like its own client, and who waits for its end gets its state", () => {
  const seen = { acknowledged: [runId], streams: new Map() }
  const { values } = good
  const promises = (more: Partial<Parameters<typeof judge>[2]>) =>
    judge(conversation, good, { ...seen, ...more }).map(({ promise }) => promise)

  assert.deepEqual(promises({ followers: new Map([[runId, log]]), joined: new Map([[runId, values]]) }), [])
  assert.ok(promises({ followers: new Map([[runId, log.slice(1)]]) }).includes("hole"))
  assert.deepEqual(promises({ joined: new Map([[runId, { ...values, messages: [] }]]) }), ["state"])
})

test("a cancelled run keeps what was saved, and nothing else", () => {
  const cancelled = { ...conversation, isCancelled: true }
  const all = messagesOf(conversation, 0)
  const promises = (messages: readonly string[], status = "interrupted") => {
    const [first] = good.runs
    assert.ok(first)
    const facts = { ...good, status: "interrupted", runs: [{ ...first, status }], values: { count: 2, messages } }
    return judge(cancelled, facts, { acknowledged: [runId], streams: new Map() }).map(({ promise }) => promise)
  }

  assert.deepEqual(promises(all.slice(0, 3)), [])
  assert.deepEqual(promises([...all.slice(0, 2), "somebody else's"]), ["state"])
  assert.deepEqual(promises(all.slice(0, 3), "error"), ["lost"])
})

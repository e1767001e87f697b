/** One altered fact in what was recorded of a real conversation is found, by the promise that it breaks. */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import type { ReceivedEvent } from "./event-client.js"
import type { HistoryEntry, RunFacts, ThreadFacts } from "./facts.js"
import { comparable, judge, learn, promises } from "./judge.js"

type Writable<T> = T extends object ? { -readonly [Key in keyof T]: Writable<T[Key]> } : T

/** A graph of two steps: a conversation that nothing disturbed, and one whose workers were killed during its first run. */
const lines = readFileSync(new URL("../../src/prove/testing/recorded.jsonl", import.meta.url), "utf8").split("\n")
const [calm, killed] = lines.slice(0, 2).map((line) => JSON.parse(line) as ThreadFacts)
assert.ok(calm && killed)
const recorded = { calm, killed }
const undisturbed = learn([recorded.calm])

interface Altered {
  readonly facts: Writable<ThreadFacts>
  readonly first: Writable<RunFacts>
  readonly second: Writable<RunFacts>
}

/** @returns  the promises that are broken when one fact is altered */
function brokenBy(alter: (altered: Altered) => void): string[] {
  const facts = structuredClone(recorded.killed) as Writable<ThreadFacts>
  const [first, second] = facts.runs
  assert.ok(first && second)
  alter({ facts, first, second })
  return [...new Set(judge(facts, undisturbed).map(({ promise }) => promise.id))]
}

const at = <Item>(list: Item[], index: number): Item => {
  const item = list.at(index)
  assert.ok(item !== undefined)
  return item
}

const entry = ({ facts }: Altered, index: number): Writable<HistoryEntry> => at(facts.history, index)
const log = ({ logs }: Writable<RunFacts>): Writable<ReceivedEvent>[] => at(logs, 0)
const messages = ({ facts }: Altered) => (facts.values as { messages: { id: string; content: string }[] }).messages

const set = (of: object, fields: object): void => void Object.assign(of, fields)

/** By the promise that must notice: what is altered. */
const planted: readonly (readonly [promise: string, words: string, alter: (altered: Altered) => void])[] = [
  ["ended", "a run never ends", ({ second }) => set(second, { status: "running" })],
  ["ended", "an acknowledged run is gone", ({ facts, second }) => set(facts, { allRunIds: [second.runId] })],
  ["ended", "a run ends twice", ({ first }) => void first.statuses.splice(-1, 1, "error")],
  ["status", "a run fails that does not fail undisturbed", ({ first }) => set(first, { status: "error" })],
  ["once", "a repeated request made a second run", ({ facts }) => set(facts, { allRunIds: [...facts.allRunIds, "x"] })],
  ["input", "an input is applied twice", (it) => set(entry(it, 1), { source: "input" })],
  ["input", "an input is not applied", (it) => set(entry(it, 0), { source: "loop" })],
  [
    "input",
    "inputs are applied in another order",
    ({ facts, first, second }) => {
      for (const one of facts.history) one.runId = one.runId === first.runId ? second.runId : first.runId
    },
  ],
  ["messages", "a message is in the state twice", (it) => void messages(it).push(at(messages(it), 0))],
  ["messages", "a message is lost", (it) => void messages(it).shift()],
  ["messages", "messages are in another order", (it) => void messages(it).reverse()],
  ["chain", "a state in the middle is lost", ({ facts }) => void facts.history.splice(2, 1)],
  ["chain", "the first state is lost", ({ facts }) => void facts.history.shift()],
  ["chain", "the history forks", (it) => set(entry(it, 2), { parentId: entry(it, 0).checkpointId })],
  ["chain", "a step is counted twice", (it) => set(entry(it, -1), { step: entry(it, -1).step - 1 })],
  ["chain", "an attempt that is over saves a state", (it) => set(entry(it, -1), { attempt: 0 })],
  ["reads", "a state that was read disappears", ({ facts }) => void at(facts.reads, -1).push("x")],
  ["reads", "a later read shows less", ({ facts }) => void at(facts.reads, -1).splice(0)],
  ["streams", "an event is missing in the log", ({ first }) => void log(first).splice(1, 1)],
  ["streams", "an event comes twice", ({ second }) => void second.stream.splice(1, 0, at(second.stream, 1))],
  ["streams", "a client misses an event", ({ second }) => void second.follower.splice(1, 1)],
  ["streams", "a client gets another event", ({ second }) => set(at(second.stream, 1), { data: {} })],
  ["streams", "a client gets an event that the log does not have", ({ second }) => void log(second).splice(2, 1)],
  ["streams", "a server tells another log", ({ first }) => void at(first.logs, 1).splice(1, 1)],
  ["streams", "a stream has no end", ({ second }) => void second.stream.pop()],
  ["streams", "a stream ends twice", ({ second }) => void log(second).push(at(log(second), -1))],
  ["streams", "a stream tells another status", ({ second }) => set(at(log(second), -1), { data: { status: "error" } })],
  ["values", "a node's message differs", (it) => set(at(messages(it), 1), { content: "other" })],
  ["replies", "a request is answered with 500", ({ facts }) => void facts.faults.push("GET /threads: 500")],
]

test("a real conversation whose workers were killed breaks no promise", () => {
  const attempts = recorded.killed.history.map(({ attempt }) => attempt)

  assert.ok(attempts.includes(2), "it has a further attempt")
  assert.deepEqual(
    brokenBy(() => undefined),
    [],
  )
})

test("one altered fact is found by the promise that it breaks", async (t) => {
  for (const [promise, words, alter] of planted)
    await t.test(`${promise}: ${words}`, () => {
      const broken = brokenBy(alter)

      assert.ok(broken.includes(promise), `found: ${broken.join(", ") || "nothing"}`)
    })
})

test("each promise has an altered fact that breaks it", () => {
  assert.deepEqual(new Set(planted.map(([promise]) => promise)), new Set(promises.map(({ id }) => id)))
})

test("a graph that answers differently each time is not compared, and keeps the other promises", () => {
  const other = structuredClone(recorded.calm) as Writable<ThreadFacts>
  ;(other.values as { other: string }).other = "answer"
  const differing = learn([recorded.calm, other])

  assert.equal(differing.values, undefined)
  assert.deepEqual(judge(recorded.killed, differing), [])
  const gone = { ...recorded.killed, allRunIds: [] }
  const broken = judge(gone, differing).map(({ promise }) => promise.id)
  assert.deepEqual(broken, ["ended", "ended"])
})

test("a graph that drops messages is not judged by them", () => {
  const without = { ...recorded.calm, values: { text: "hello" } }

  assert.equal(learn([recorded.calm, without]).keepsMessages, false)
})

test("ids and times are not compared, everything else is", () => {
  const one = { id: "1", text: "on 2026-11-28T13:00:00Z", ref: "82edf016-b86a-4f3f-90ae-8933023cf908", n: 1 }
  const same = { id: "2", text: "on 2026-11-28T14:11:00Z", ref: "e12cf860-3bca-49f9-8bd7-773fd7fba944", n: 1 }

  assert.equal(comparable(one), comparable(same))
  assert.notEqual(comparable(one), comparable({ ...same, n: 2 }))
})

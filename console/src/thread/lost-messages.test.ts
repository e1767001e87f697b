import assert from "node:assert/strict"
import { test } from "node:test"
import type { ThreadEvent } from "./activity.js"
import { noFacts, withEvent, withoutLost } from "./lost-messages.js"

const hi = { type: "human", id: "h", content: "hi" }
const begun = { type: "ai", id: "a1", content: "You sa" }
const again = { type: "ai", id: "a2", content: "You said" }

const event = (seq: number, eventId: string, method: string, data: object, namespace: string[] = []): ThreadEvent => ({
  event_id: eventId,
  seq,
  method,
  params: { namespace, data },
})
const starts = (seq: number, id: string, run = "r1") =>
  event(seq, `${run}:${seq}`, "messages", { event: "message-start", id }, ["answer:t"])
const runs = (seq: number, attempt?: number, run = "r1") =>
  event(seq, `synth:${run}:running${attempt === undefined ? "" : `:${attempt}`}`, "lifecycle", { event: "running" })
const values = (seq: number, ...messages: object[]) => event(seq, `r1:${seq}`, "values", { messages })

const twoAttempts = [runs(1), values(2, hi), starts(3, "a1"), runs(4, 2), starts(5, "a2")]
const facts = (events: readonly ThreadEvent[]) => events.reduce(withEvent, noFacts)

test("an unfinished message of a lost attempt is removed, whatever the order in which the events arrive", () => {
  for (const events of [twoAttempts, twoAttempts.toReversed(), [...twoAttempts, ...twoAttempts]])
    assert.deepEqual(withoutLost([hi, begun, again], facts(events), undefined), [hi, again])
})

test("nothing is removed before the next attempt starts, nor when another run is retried", () => {
  assert.deepEqual(withoutLost([hi, begun], facts(twoAttempts.slice(0, 3)), undefined), [hi, begun])
  assert.deepEqual(withoutLost([begun], facts([runs(1), starts(2, "a1"), runs(3, 2, "r2")]), undefined), [begun])
})

test("a lost message stays removed during later runs", () => {
  const later = [...twoAttempts, runs(6, undefined, "r2"), starts(7, "a3", "r2")]
  const third = { type: "ai", id: "a3", content: "yes" }

  assert.deepEqual(withoutLost([begun, again, third], facts(later), undefined), [again, third])
})

test("a message of the state is never removed, whether a checkpoint or the stream has it", () => {
  const finished = [runs(1), starts(2, "a1"), runs(4, 2)]

  assert.deepEqual(withoutLost([begun], facts(finished), [begun]), [begun])
  assert.deepEqual(withoutLost([begun], facts([...finished, values(3, begun)]), undefined), [begun])
})

test("a message that the next attempt starts again under the same id is kept", () => {
  assert.deepEqual(withoutLost([begun], facts([starts(2, "a1"), runs(3, 2), starts(4, "a1")]), undefined), [begun])
})

test("a third attempt removes the unfinished messages of the second", () => {
  const events = [...twoAttempts, runs(6, 3), starts(7, "a3")]

  assert.deepEqual(withoutLost([begun, again], facts(events), undefined), [])
})

import assert from "node:assert/strict"
import { test } from "node:test"
import { everyMs } from "../requests/query-client.js"
import { askInTurn } from "./ask-in-turn.js"

test("many agents are asked more seldom", () => {
  const pauses = [1, 25, 100].map((agents) => everyMs(agents))
  assert.deepEqual(pauses, [5000, 5000, 20_000])
})

test("six agents are asked at a time, and who has stopped waiting asks nobody", async () => {
  const asked: number[] = []
  const answers: (() => void)[] = []
  const left = new AbortController()
  const ask = (n: number, signal?: AbortSignal) =>
    askInTurn(async () => {
      asked.push(n)
      await new Promise<void>((resolve) => answers.push(resolve))
    }, signal)
  const six = [1, 2, 3, 4, 5, 6].map((n) => ask(n))
  const seventh = assert.rejects(ask(7, left.signal), { name: "AbortError" })
  await new Promise(setImmediate)
  assert.deepEqual(asked, [1, 2, 3, 4, 5, 6])

  left.abort()
  for (const answer of answers) answer()

  await Promise.all([...six, seventh])
  assert.equal(asked.length, 6)
})

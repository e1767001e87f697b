import assert from "node:assert/strict"
import { test } from "node:test"
import { InvalidJson } from "../schema-form/value.js"
import { mostThreads, noOptions, problemOf, readOptions, requestOf, writeOptions } from "./run-options.js"

function emptyStorage() {
  const items = new Map<string, string>()
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  }
}

test("options are remembered for each thread", () => {
  const storage = emptyStorage()

  writeOptions(storage, "a/1", { ...noOptions, breakBefore: ["tools"] })
  writeOptions(storage, "a/2", { ...noOptions, context: { tone: "dry" } })

  assert.deepEqual(readOptions(storage, "a/1").breakBefore, ["tools"])
  assert.deepEqual(readOptions(storage, "a/2").context, { tone: "dry" })
  assert.deepEqual(readOptions(storage, "a/3"), noOptions)
})

test("the threads that were changed last are remembered", () => {
  const storage = emptyStorage()

  for (let n = 0; n <= mostThreads; n++) writeOptions(storage, `a/${n}`, { ...noOptions, breakAfter: ["plan"] })

  assert.deepEqual(readOptions(storage, "a/0"), noOptions)
  assert.deepEqual(readOptions(storage, "a/1").breakAfter, ["plan"])
})

test("a request has only what was set", () => {
  assert.deepEqual(requestOf(noOptions), {})
  assert.deepEqual(requestOf({ breakBefore: ["a"], breakAfter: [], context: {}, config: { recursion_limit: 5 } }), {
    interruptBefore: ["a"],
    context: {},
    config: { recursion_limit: 5 },
  })
})

test("text that is no JSON is neither sent nor remembered", () => {
  const storage = emptyStorage()
  const broken = { ...noOptions, context: { parts: [new InvalidJson("no JSON")] }, config: new InvalidJson("no JSON") }

  writeOptions(storage, "a/1", broken)

  assert.equal(problemOf(broken), "Correct the configuration first.")
  assert.equal(problemOf(readOptions(storage, "a/1")), undefined)
  assert.equal(readOptions(storage, "a/1").config, undefined)
})

import assert from "node:assert/strict"
import { test } from "node:test"
import { type Press, readPress } from "./shortcuts.js"

/** What a row of keys leads to. */
function commandOf(presses: readonly (string | Partial<Press>)[], hasLetters = true) {
  let goingSinceMs: number | undefined
  return presses.map((press) => {
    const full = {
      isModified: false,
      isTaken: false,
      atMs: 0,
      key: "",
      ...(typeof press === "string" ? { key: press } : press),
    }
    const reading = readPress(full, goingSinceMs, hasLetters)
    goingSinceMs = reading.goingSinceMs
    return reading.command
  })
}

test("g and a letter lead to a page, and each other key after g to nothing", () => {
  assert.deepEqual(commandOf(["g", "d"]), [undefined, { kind: "go", key: "d" }])
  assert.deepEqual(commandOf(["g", "Escape", "d"]), [undefined, undefined, undefined])
  assert.deepEqual(commandOf(["g", "/", "/"]), [undefined, undefined, { kind: "search" }])
})

test("g is forgotten after a while, and a g pressed again counts anew", () => {
  const press = (key: string, atMs: number) => ({ key, atMs })
  const toDeployments = { kind: "go", key: "d" }

  assert.deepEqual(commandOf([press("g", 1000), press("d", 2500)]), [undefined, toDeployments])
  assert.deepEqual(commandOf([press("g", 1000), press("d", 2501)]), [undefined, undefined])
  const again = [press("g", 1000), press("g", 3000), press("d", 3100)]
  assert.deepEqual(commandOf(again), [undefined, undefined, toDeployments])
})

test("in a field, a menu or a dialog only Ctrl+K is a shortcut", () => {
  const taken = ["g", "d", "/", "?"].map((key) => ({ key, isTaken: true }))
  assert.deepEqual(commandOf(taken), [undefined, undefined, undefined, undefined])
  assert.deepEqual(commandOf([{ key: "k", isModified: true, isTaken: true }]), [{ kind: "palette" }])
})

test("a person can turn the single keys off, and Ctrl+K stays", () => {
  assert.deepEqual(commandOf(["g", "d", "?", "/"], false), [undefined, undefined, undefined, undefined])
  assert.deepEqual(commandOf([{ key: "K", isModified: true }], false), [{ kind: "palette" }])
})

import assert from "node:assert/strict"
import { test } from "node:test"
import { type Choice, choiceOf, wordFor } from "./choices.js"
import { diceOf } from "./dice.js"

const choice = (role: string, name: string): Choice => ({ role, name, around: "", isLead: false })
const all = () => true
const rows = Array.from({ length: 200 }, (_, n) => choice("link", `Thread ${n}`))
const buttons = [choice("button", "Copy as curl"), choice("button", "Pause")]

test("the same step chooses the same, whatever ids and times the page shows", () => {
  const shown = (id: string, age: string) => [
    choice("link", `Run ${id} · ${age}`),
    choice("button", `Delete ${id}`),
    choice("link", "Settings"),
  ]
  for (let step = 0; step < 50; step++)
    assert.equal(
      choiceOf(shown("0190a3f4", "just now"), diceOf(3, step), all),
      choiceOf(shown("ffffa3f4", "3 min ago"), diceOf(3, step), all),
    )
})

test("a long list hides no button, and a button that changes something is pressed often", () => {
  const pressed = Array.from({ length: 300 }, (_, step) => choiceOf([...rows, ...buttons], diceOf(5, step), all))

  const count = (place: number) => pressed.filter((one) => one === place).length
  assert.ok(count(rows.length) > 60, "Copy as curl")
  assert.ok(count(rows.length + 1) > 60, "Pause")
})

test("what may not be pressed is not", () => {
  assert.equal(
    choiceOf(buttons, diceOf(1, 1), () => false),
    undefined,
  )
  for (let step = 0; step < 20; step++)
    assert.equal(
      choiceOf(buttons, diceOf(1, step), ({ name }) => name !== "Pause"),
      0,
    )
})

test("a deletion is confirmed with its name, mostly", () => {
  const words = Array.from({ length: 100 }, (_, step) => wordFor("Write scratch-1 to confirm", diceOf(1, step)))

  assert.ok(words.filter((word) => word === "scratch-1").length > 50)
})

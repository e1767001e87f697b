import assert from "node:assert/strict"
import { test } from "node:test"
import { Fifo } from "./fifo.js"

test("items leave in the order in which they came, also when they come and go in turns", () => {
  const queue = new Fifo<number>()
  const left: (number | undefined)[] = []

  for (let n = 0; n < 100; n++) {
    queue.push(n)
    if (n % 3 === 0) left.push(queue.shift())
  }
  const rest = [...queue]

  assert.deepEqual(
    [...left, ...rest],
    Array.from({ length: 100 }, (_, n) => n),
  )
  assert.equal(queue.peek(), rest[0])
  assert.equal(queue.length, rest.length)
})

test("an empty queue has no first item", () => {
  const queue = new Fifo<string>()
  queue.push("a")

  assert.deepEqual([queue.shift(), queue.shift(), queue.peek(), queue.length], ["a", undefined, undefined, 0])
})

import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate } from "node:timers/promises"
import { TooManyRequests } from "@superstep/toolkit/errors/errors"
import { Turns } from "./turns.js"

const never = new AbortController().signal

/** Work that lasts until it is told to end. */
function someWork(turns: Turns, began: string[]) {
  const ends = new Map<string, () => void>()
  return {
    ask: (workspaceId: string, name: string, signal = never) =>
      turns.take(workspaceId, signal, async () => {
        began.push(name)
        await new Promise<void>((resolve) => ends.set(name, resolve))
        return name
      }),
    end: (name: string) => ends.get(name)?.(),
  }
}

test("two workspaces have their turn at a time, and none has both places (CC1)", async () => {
  const began: string[] = []
  const { ask, end } = someWork(new Turns(), began)
  const first = ask("a", "a1")
  const second = ask("a", "a2")
  const other = ask("b", "b1")
  const third = ask("c", "c1")

  await setImmediate()
  assert.deepEqual(began, ["a1", "b1"])
  end("b1")
  await other
  await setImmediate()
  assert.deepEqual(began, ["a1", "b1", "c1"])
  end("a1")
  await first
  await setImmediate()
  assert.deepEqual(began, ["a1", "b1", "c1", "a2"])
  end("c1")
  end("a2")

  assert.deepEqual(await Promise.all([second, third]), ["a2", "c1"])
})

test("work that fails ends its turn, and more than eight are refused (CC1)", async () => {
  const turns = new Turns()
  await assert.rejects(
    turns.take("a", never, () => Promise.reject(new Error("failed"))),
    /failed/,
  )
  const began: string[] = []
  const { ask, end } = someWork(turns, began)

  const asked = ["a", "b", "c", "d", "e", "f", "g", "h"].map((workspace) => ask(workspace, workspace))

  await assert.rejects(ask("i", "i"), TooManyRequests)
  for (const [index, one] of asked.entries()) {
    end("abcdefgh".charAt(index))
    await one
    await setImmediate()
  }
  assert.equal(began.join(""), "abcdefgh")
})

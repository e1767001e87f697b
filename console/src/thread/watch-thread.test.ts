import assert from "node:assert/strict"
import { test } from "node:test"
import type { Client } from "@langchain/langgraph-sdk"
import { watchThread } from "./watch-thread.js"

test("a stream that ends by itself says so once, and one that the page ended does not", async () => {
  const events = { isPaused: false, async *[Symbol.asyncIterator]() {} }
  const nothing = async () => {}
  const stream = () => ({ onEvent: nothing, onError: nothing, close: nothing, subscribe: async () => events })
  const client = { threads: { stream } } as unknown as Client
  const streaming = { transport: "sse", fetch } as const
  const seen: string[] = []
  const watched = (name: string) => {
    const note = (what: string) => () => seen.push(`${name} ${what}`)
    const calls = { onActivity: note("acts"), onCheckpoint: note("saves"), onOpen: note("opens"), onEnd: note("ends") }
    return watchThread({ client, streaming, threadId: "t", assistantId: "a", ...calls })
  }

  watched("lost")
  watched("left")()
  await new Promise(setImmediate)

  assert.deepEqual(seen, ["lost opens", "lost ends"])
})

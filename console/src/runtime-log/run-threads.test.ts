import assert from "node:assert/strict"
import { test } from "node:test"
import { threadsOf } from "./run-threads.js"

test("a line of a run finds its thread by any other line of the run", () => {
  const threadId = "01a211fd-1b0f-75f9-a74b-e79d416cfd44"
  const lines = [
    { run_id: null, message: `{"thread_id":"${threadId}"}` },
    { run_id: "r1", message: "hello" },
    { run_id: "r1", message: `run started {"thread_id":"${threadId}","attempt":1}` },
    { run_id: "r2", message: "its start is not in the log" },
  ]

  assert.deepEqual([...threadsOf(lines)], [["r1", threadId]])
})

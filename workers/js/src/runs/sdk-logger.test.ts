/** `getLogger()` of the official SDK, in a real worker. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { startWorker } from "../testing/worker.js"

test("a graph logs through the SDK's getLogger, and each line contains its run", async () => {
  await using server = await startWorker("logging")

  const { status, frame } = await server.run("logging", { input: { said: "two words" }, attempt: 2 })

  assert.equal(status, "success")
  const [loaded, ...lines] = (await server.output(6)).map((line) => JSON.parse(line))
  const { run_id, thread_id } = frame
  const run = { process: "worker", run_id, thread_id, attempt: 2, graph_id: "logging" }
  assert.ok([loaded, ...lines].every(({ time }) => new Date(time).toISOString() === time))
  assert.deepEqual(loaded, { level: "info", time: loaded.time, process: "worker", msg: "the graph is loaded" })
  const [warning, error, ...others] = lines.map(({ time: _, ...line }) => line)
  assert.deepEqual(warning, { level: "warn", ...run, msg: "two words", words: 2 })
  assert.deepEqual({ ...error, err: undefined }, { level: "error", ...run, msg: "it failed", err: undefined })
  assert.deepEqual([error.err.type, error.err.message], ["TypeError", "no such word"])
  assert.match(error.err.stack, /logging\.ts:\d+/)
  assert.deepEqual(others, [
    { level: "debug", ...run, msg: '{"said":"two words"}' },
    { level: "debug", ...run, msg: "as an object", said: "two words" },
    { level: "info", ...run, msg: '["a","list"] 1' },
  ])
})

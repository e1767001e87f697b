/** A worker reports its load while it executes runs, and sends nothing while it is idle. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { FakeServer } from "../testing/fake-server.js"
import { project, pythonGraphs, skip, startPythonWorker } from "../testing/python-worker.js"
import { startWorker } from "../testing/worker.js"
import { LoadReports } from "./load-reports.js"

test("reports are sent ten times a second from start to stop", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] })
  const sent: object[] = []
  const reports = new LoadReports({ send: (frame) => sent.push(frame) })

  t.mock.timers.tick(1000)
  assert.equal(sent.length, 0)
  reports.start()
  reports.start()
  t.mock.timers.tick(1000)
  assert.equal(sent.length, 10)
  reports.stop()
  t.mock.timers.tick(1000)

  assert.equal(sent.length, 10)
})

test("a worker reports while a run executes", async () => {
  await using server = await startWorker("odd")
  const run = server.startRun("odd", { input: { what: "deaf" }, stream_modes: ["custom"] })

  await checkReports(server)

  server.send({ type: "cancel", run_id: run.run_id, claim_id: run.claim_id })
  assert.equal((await server.done(run)).status, "cancelled")
})

test("a Python worker reports while a run executes", { skip }, async () => {
  await using server = await startPythonWorker()
  await server.load(project, { values: pythonGraphs.values ?? "" })
  const run = server.startRun("values", { input: { kind: "blocked" }, stream_modes: ["tasks"] })

  await checkReports(server)

  server.send({ type: "cancel", run_id: run.run_id, claim_id: run.claim_id })
  assert.equal((await server.done(run)).status, "cancelled")
})

async function checkReports(server: FakeServer): Promise<void> {
  for (const { busy, memory_mb } of await server.reports(2)) {
    assert.ok(busy >= 0 && busy <= 1, `busy: ${busy}`)
    assert.ok(memory_mb > 10 && memory_mb < 10_000, `memory_mb: ${memory_mb}`)
  }
}

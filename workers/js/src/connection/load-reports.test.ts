/** A worker reports its load while it executes runs, and sends nothing while it is idle; worker.test.ts has real ones. */
import assert from "node:assert/strict"
import { test } from "node:test"
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

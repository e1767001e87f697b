import assert from "node:assert/strict"
import { test } from "node:test"
import { type Activity, noActivity } from "./activity.js"
import { failureOf, isUnderWay, type LastRun, shownRunId, statusAtRest, type ThreadFacts } from "./run-facts.js"

const seen = (status: Activity["status"], runId: string, error?: string): Activity => ({
  ...noActivity,
  status,
  runId,
  error,
})
const run = (run_id: string, status: string, error?: LastRun["error"]): LastRun => ({
  run_id,
  status,
  created_at: "2026-11-29T10:00:00.000Z",
  error: error ?? null,
})
const facts = (threadStatus: string, lastRun?: LastRun): ThreadFacts => ({ threadStatus, lastRun })
const broken = { error: "TypeError", message: "no such order" }

test("a run that failed before the page was opened is over, and its error is shown", () => {
  const failed = facts("error", run("r1", "error", broken))

  assert.equal(isUnderWay(failed, noActivity), false)
  assert.deepEqual(failureOf(failed, noActivity), { text: "TypeError: no such order", explained: undefined })
  assert.equal(shownRunId(failed, noActivity), "r1")
  assert.equal(statusAtRest(failed, true, false), "error")
})

test("a run that the stream shows as running is over when the server says so", () => {
  const activity = seen("running", "r1")

  assert.equal(isUnderWay(facts("busy", run("r1", "running")), activity), true)
  assert.equal(isUnderWay(facts("error", run("r1", "error", broken)), activity), false)
  assert.equal(isUnderWay(facts("idle", run("r2", "success")), activity), false)
  // What was read before the run began says nothing of it.
  assert.equal(isUnderWay(facts("idle", run("r0", "success")), activity), true)
  assert.equal(isUnderWay(facts("idle"), activity), true)
})

test("after the end of a run only a later one keeps the thread busy", () => {
  const activity = seen("completed", "r1")

  assert.equal(isUnderWay(facts("busy", run("r1", "running")), activity), false)
  assert.equal(isUnderWay(facts("busy", run("r2", "pending")), activity), true)
})

test("a thread of which no event was seen is as the server says", () => {
  assert.equal(isUnderWay(facts("busy"), noActivity), true)
  assert.equal(isUnderWay(facts("interrupted"), noActivity), false)
})

test("an error is shown until another run or an edit follows it", () => {
  const failed = run("r1", "error", broken)

  assert.equal(failureOf(facts("busy", run("r1", "running")), seen("failed", "r1", "live"))?.text, "live")
  assert.equal(failureOf(facts("error", failed), seen("failed", "r2", "later"))?.text, "later")
  assert.equal(failureOf(facts("error", failed), seen("completed", "r2")), undefined)
  assert.equal(failureOf(facts("idle", failed), noActivity), undefined)
  assert.equal(failureOf(facts("idle", run("r2", "success")), seen("failed", "r1", "earlier")), undefined)
  assert.match(failureOf(facts("error", run("r1", "timeout")), noActivity)?.text ?? "", /no text/)
})

test("a run that the platform ended is explained", () => {
  const doc_url = "docs/errors.md#runtimeout"
  const late = run("r1", "timeout", { error: "RunTimeout", message: "the run took longer than 1 s", doc_url })

  assert.deepEqual(failureOf(facts("error", late), noActivity)?.explained, { code: "RunTimeout", docUrl: doc_url })
})

import assert from "node:assert/strict"
import test from "node:test"
import { BuildFailed } from "@superstep/builder/faults/build-failed"
import { TooManyDeployments } from "@superstep/machines/port/errors"
import { RegistryFailed } from "@superstep/oci/registry/failures"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { storableText } from "@superstep/toolkit/text/storable"
import { backOffMs } from "../health/restart.js"
import { reportOf } from "../planner/testing/facts.js"
import { stages } from "../revisions/revision.js"
import { statusMessage } from "../revisions/status-message.js"
import { SourceFailed } from "../sources/port.js"
import { judgeReport, reasonOfEnds } from "./deploy-stage.js"
import { DeployFailed, judge } from "./failures.js"
import { openStages } from "./pipeline.js"

const tries = (stage_attempt: number, failing_ms = 0) => ({ stage_attempt, failing_ms })
const delaysOf = (error: unknown, failingMs: number) =>
  [0, 1, 2, 3, 30].map((attempts) => {
    const verdict = judge(error, tries(attempts, failingMs))
    return verdict.kind === "retry" ? verdict.delayMs : undefined
  })
// Three tries may take longer than ten minutes.
const last = tries(3, 600_000)

test("a person's fault fails at once, any other is tried again", () => {
  const network = new SourceFailed("source_not_found", "no route", { isTransient: true })

  for (const error of [
    new BuildFailed("config_invalid", "bad"),
    new SourceFailed("source_auth", "no"),
    new DeployFailed("crash_loop", "ends"),
  ]) {
    assert.deepEqual(judge(error, tries(0)), { kind: "fail", code: error.code, message: error.message })
  }
  assert.deepEqual(delaysOf(network, 600_000), [5000, 20_000, 60_000, undefined, undefined])
  const limited = new SourceFailed("source_not_found", "429", { isTransient: true, askedMs: 30_000 })
  assert.deepEqual(delaysOf(limited, 600_000), [30_000, 30_000, 60_000, undefined, undefined])
  assert.deepEqual(judge(network, tries(3)), { kind: "fail", code: "source_not_found", message: "no route" })
  assert.deepEqual(judge(new Error("a bug"), last), { kind: "fail", code: "internal", message: "a bug" })
  // The socket of a unit refused: that is no failure of the database.
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" })
  assert.deepEqual(judge(refused, last), { kind: "fail", code: "internal", message: "refused" })
  const full = new TooManyDeployments("all users are given out")
  assert.deepEqual(judge(full, tries(0)), { kind: "fail", code: "capacity", message: "all users are given out" })
  const away = new DatabaseUnavailable("away")
  assert.deepEqual(judge(away, last), { kind: "fail", code: "db_unreachable", message: "away" })
  const noRoom = new Error("ENOSPC: no space left on device, mkdir 'work'")
  assert.equal(judge(noRoom, tries(0)).kind, "retry")
  assert.deepEqual(judge(noRoom, tries(3)), { kind: "fail", code: "disk_full", message: "the platform's disk is full" })
})

test("what the platform itself is at fault for is tried again for ten minutes, however often", () => {
  const engine = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })
  for (const error of [
    engine,
    new DatabaseUnavailable("away"),
    new RegistryFailed("r.example does not answer"),
    new Error("?"),
  ]) {
    assert.deepEqual(delaysOf(error, 599_999), [5000, 20_000, 60_000, 60_000, 60_000])
    // Tries that take long are three more all the same.
    assert.deepEqual(delaysOf(error, 600_000), [5000, 20_000, 60_000, undefined, undefined])
  }
})

test("the last lines of a process tell why it ended", () => {
  const heap = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"

  assert.equal(reasonOfEnds([heap, "----- Native stack trace -----"]), "oom_killed")
  assert.equal(reasonOfEnds(["the database cannot be reached (ECONNREFUSED): try again in a moment"]), "db_unreachable")
  assert.equal(reasonOfEnds(["Error: no"]), "crash_loop")
})

test("a reader of the revision sees the fault, what to do, and the end of the log; a sentence ends with one full stop, and paths stay as they are", () => {
  const message = statusMessage("install_failed", '"npm ci" failed with exit code 1', ["npm error code E404", ""])

  assert.match(message, /^"npm ci" failed with exit code 1\. Run the same command/)
  assert.match(message, /\n {2}npm error code E404$/)

  assert.match(
    statusMessage("graph_missing", "there is no ../graphs/chat.ts.", []),
    /^there is no \.\.\/graphs\/chat\.ts\. Correct/,
  )
})

test("a unit that is ready may take over; a graph that does not load says which and why", () => {
  const report = reportOf({ revision_id: "r1", graphs: ["chat"], serving: false })

  assert.equal(judgeReport({ ...report, ready: false }, "r1", []), false)
  assert.equal(judgeReport(report, "another", []), false)
  assert.equal(judgeReport(report, "r1", []), true)
  const failed = (graph_id: string, message: string) => ({
    graph_id: storableText(graph_id, 100),
    message: storableText(message, 100),
  })
  const broken = { ...report, failed: [failed("chat", "no key")] }
  const refusal = (error: unknown) => error instanceof DeployFailed && error.code === "graph_load_failed"
  assert.throws(() => judgeReport(broken, "r1", []), refusal)
  const refused = { ...report, failed: [failed("auth.path", "no key")] }
  assert.throws(() => judgeReport(refused, "r1", []), /^DeployFailed: auth\.path does not load: no key/)
  const keyless = {
    ...report,
    failed: [failed("auth.path", 'KeyError: environment variable "KEY" is not set')],
  }
  const lacksKey = (error: unknown) => error instanceof DeployFailed && error.code === "secret_missing"
  assert.throws(() => judgeReport(keyless, "r1", []), lacksKey)
  assert.throws(() => judgeReport(keyless, "r1", ["KEY"]), refusal)
})

test("a full stage is open to a workspace that has nothing in it, up to a limit, and no other stage is closed", () => {
  const full = openStages(Array(8).fill("fetch"), 1)
  const overfull = openStages(Array(32).fill("fetch"), 1)
  const building = openStages(["build"], 1)
  const twice = openStages(["build", "build"], 1)

  assert.deepEqual(openStages([], 1), { all: stages, reserved: stages })
  assert.deepEqual(full, { all: stages.filter((it) => it !== "fetch"), reserved: stages })
  assert.ok(!overfull.reserved.includes("fetch") && overfull.all.includes("deploy"))
  assert.deepEqual(building, { all: stages.filter((it) => it !== "build"), reserved: stages })
  assert.ok(!twice.reserved.includes("build"))
})

test("a unit's restarts come later and later, up to a minute", () => {
  assert.deepEqual([1, 2, 3, 20].map(backOffMs), [1000, 2000, 4000, 60_000])
})

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { type Receiver, received } from "../schemas/received.js"
import { longestWaitMs, mostInReply } from "./calls.js"
import { ReportReply, ReportRequest, WorkReply, WorkRequest } from "./validators.js"

const folder = new URL("../../", import.meta.url)
const schema = readFileSync(new URL("listener/exchange.schema.json", folder), "utf8")

const id = "0192f0c1-2a3b-7c4d-8e5f-001122334455"
const at = "2026-11-29T12:10:13.123456+00:00"

const revision = {
  revision_id: id,
  status: "BUILDING",
  stage: "build",
  commit_sha: null,
  commit: { sha: "abc", message: "one", author: "me" },
  stage_started_at: { build: at },
  error_code: null,
  status_message: null,
  orphaned_threads: null,
  pinned_threads: 0,
  started_at: at,
  finished_at: null,
}
const line = {
  log_line_id: 7,
  revision_id: id,
  stream: "build",
  time: "2026-11-29T12:10:13.123Z",
  level: "INFO",
  message: "installing 🧩\tat two\nlines",
  run_id: null,
}
const state = {
  is_ready: true,
  url: "https://far.test:8901/d/far",
  active_revision_id: null,
  health: null,
  run_state: "running",
  is_restarting: false,
  problem: null,
  is_gone: false,
  revisions: [revision],
}
const report = { deployment_id: id, after: -1, state, lines: [line] }

const problemOf = (receiver: Receiver, value: unknown): string | undefined => {
  const it = received(receiver, structuredClone(value))
  return "problem" in it ? `${it.problem.path.join(".")} ${it.problem.message}` : undefined
}

test("the constants of both sides match the schema", () => {
  const { WorkRequest: asked, WorkReply: reply } = JSON.parse(schema).$defs
  assert.equal(asked.properties.wait_ms.maximum, longestWaitMs)
  assert.equal(reply.properties.changed.maxItems, mostInReply)
})

test("the README names each message and each of its fields", () => {
  const page = readFileSync(new URL("listener/README.md", folder), "utf8")
  const { $defs } = JSON.parse(schema)
  for (const name of ["WorkRequest", "WorkReply", "ReportRequest", "ReportReply"]) {
    assert.ok(page.includes(`\`${name}\``), name)
    for (const field of Object.keys($defs[name].properties)) assert.ok(page.includes(`\`${field}\``), field)
  }
})

test("a message that is invalid names its first invalid field", () => {
  const request = { known: { [id]: "3.x" }, known_callers: "", wait_ms: 0 }
  const withRevision = (more: object) => ({ ...report, state: { ...state, revisions: [{ ...revision, ...more }] } })
  const withLine = (more: object) => ({ ...report, lines: [line, { ...line, ...more }] })

  const withUrl = (url: string) => ({ ...report, state: { ...state, url } })
  const pattern = /^lines\.1\.message must match pattern/

  assert.equal(problemOf(ReportRequest, report), undefined)
  assert.equal(problemOf(WorkRequest, request), undefined)
  for (const [receiver, message, problem] of [
    [WorkRequest, { ...request, wait_ms: 25_001 }, /^wait_ms must be <= 25000$/],
    [WorkRequest, { known: {}, wait_ms: 0 }, /^ must have required property 'known_callers'$/],
    [WorkRequest, { ...request, known: { "not an id": "1" } }, /^known must match pattern/],
    [
      WorkRequest,
      { ...request, known: { [id]: "x".repeat(300) } },
      /^known\.[\da-f-]{36} must NOT have more than 200 /,
    ],
    [ReportRequest, [report], /^ must be object$/],
    [
      ReportRequest,
      withRevision({ status: "DONE" }),
      /^state\.revisions\.0\.status must be equal to one of the allowed/,
    ],
    [ReportRequest, withLine({ message: "\u0000" }), pattern],
    [ReportRequest, withLine({ message: "\ud83e" }), pattern],
    [ReportRequest, { ...report, lines: Array(1001).fill(line) }, /^lines must NOT have more than 1000 items$/],
    ...["ftp://a.test", "https://", "https://a b", "javascript:alert(1)"].map(
      (url) => [ReportRequest, withUrl(url), /^state\.url /] as const,
    ),
    [ReportReply, { is_accepted: "yes", reports: 1, log_line_id: 1 }, /^is_accepted must be boolean$/],
  ] as const)
    assert.match(problemOf(receiver, message) ?? "", problem)
})

test("a time that Postgres could not read is invalid", () => {
  const withTime = (started_at: string) => ({
    ...report,
    state: { ...state, revisions: [{ ...revision, started_at }] },
  })
  const good = ["2024-02-29T00:00:00Z", "2000-02-29T23:59:59.999999+14:00", "2026-02-28T01:02:03-08:00"]
  const noDays = ["2026-02-29", "2100-02-29", "2026-04-31", "2026-13-01", "0000-01-01"].map((day) => `${day}T00:00:00Z`)
  const bad = [...noDays, "2026-01-01T24:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00+23:00", "today"]

  for (const time of good) assert.equal(problemOf(ReportRequest, withTime(time)), undefined, time)
  for (const time of bad)
    assert.match(problemOf(ReportRequest, withTime(time)) ?? "", /^state\.revisions\.0\.started_at must match/, time)
})

test("fields that a message does not have are dropped, at every depth, and objects of users stay whole", () => {
  const odd = {
    ...report,
    more: 1,
    state: { ...state, revisions: [{ ...revision, stage_started_at: { later: "\u0000" } }] },
  }
  const it = received<{ state: { revisions: { stage_started_at: object }[] } }>(ReportRequest, odd)
  const spec = { cpu: 1, later: { deep: ["x"] } }
  const wanted = {
    deployment_id: id,
    version: "1",
    name: "far",
    display_name: null,
    source: "github",
    source_config: { repo_url: null, resource_spec: spec, listener_id: id },
    source_revision_config: { repo_ref: "main" },
    secrets_version: 1,
    desired_run_state: "running",
    restart_generation: 0,
    is_deleted: false,
    integration: null,
    revisions: [],
    secrets: [{ version: 1, name: "KEY", value: "x" }],
  }
  const reply = { workspace_id: id, callers: null, assigned: [id], changed: [wanted] }
  const work = received<{ changed: { source_config: object }[] }>(WorkReply, reply)

  assert.ok("message" in it && "message" in work)
  assert.ok(!("more" in it.message))
  assert.deepEqual(it.message.state.revisions[0]?.stage_started_at, {})
  assert.deepEqual(work.message.changed[0]?.source_config, { repo_url: null, resource_spec: spec })
})

test("a path holds no more of what a sender chose than people read", () => {
  const known = { [id]: 1, ...Object.fromEntries([["x".repeat(10_000), "1"]]) }
  const it = received(WorkRequest, { known, known_callers: "", wait_ms: 0 })

  assert.ok("problem" in it && JSON.stringify(it.problem).length < 400)
})

import assert from "node:assert/strict"
import test from "node:test"
import { type Admission, type Asked, admit } from "./admission.js"
import { indexTable } from "./table.js"
import { key, readKey, route } from "./testing/harness.js"

const table = indexTable({ generation: 1, routes: [route("chat", []), route("closed", [], { keys: [] })] })
const limitBytes = 100

const ask = (url: string, change: Partial<Asked> = {}): Admission =>
  admit({ method: "GET", url, headers: { "x-api-key": [key] }, ...change }, table, limitBytes)

const statusOf = (admission: Admission) => ("refusal" in admission ? admission.refusal.status : "in")

test("a known key is admitted; no key, an unknown one, and any key at a route without keys are not", () => {
  assert.equal(statusOf(ask("/d/chat/threads")), "in")
  assert.equal(statusOf(ask("/d/chat/threads", { headers: {} })), 401)
  assert.equal(statusOf(ask("/d/chat/threads", { headers: { "x-api-key": ["other"] } })), 401)
  assert.equal(statusOf(ask("/d/chat/threads", { headers: { "x-api-key": [""] } })), 401)
  assert.equal(statusOf(ask("/d/chat/threads", { headers: { "x-api-key": [key, "other"] } })), 401)
  assert.equal(statusOf(ask("/d/closed/threads")), 401)
})

test("a read-only key gets an error for every request that may change something", () => {
  const asked = (method: string, path: string, more: Partial<Asked> = {}) =>
    ask(`/d/chat${path}`, { method, headers: { "x-api-key": [readKey] }, ...more })

  assert.equal(statusOf(asked("GET", "/threads/x")), "in")
  assert.equal(statusOf(asked("POST", "/threads/search")), "in")
  assert.equal(statusOf(asked("POST", "/runs/search")), "in")
  assert.equal(statusOf(asked("POST", "/internal/activate")), 404)
  assert.equal(statusOf(asked("GET", "/socket", { isUpgrade: true })), 403)
  assert.equal(statusOf(asked("DELETE", "/threads/x")), 403)
  const refused = asked("POST", "/runs/stream")
  assert.ok("refusal" in refused)
  assert.deepEqual([refused.refusal.status, refused.refusal.code], [403, "scope_missing"])
  assert.match(refused.refusal.detail, /may only read.*scope run, deploy or admin/)
})

test("with a table of an older release, which lacks rights of keys, only reading requests are admitted", () => {
  const { read_keys: _, ...formerRoute } = route("chat", [])
  const former = indexTable({ generation: 1, routes: [formerRoute] })
  const asked = (method: string, path: string) =>
    admit({ method, url: `/d/chat${path}`, headers: { "x-api-key": [key] } }, former, limitBytes)

  assert.equal(former.hasKeyRights, false)
  assert.equal(table.hasKeyRights, true)
  assert.equal(statusOf(asked("GET", "/threads/x")), "in")
  assert.equal(statusOf(asked("POST", "/runs/stream")), 503)
})

test("the health check and CORS preflights need no key, other OPTIONS do; no key opens the control plane's paths", () => {
  const preflight = { "access-control-request-method": ["POST"] }

  const kindOf = (admission: Admission) => ("refusal" in admission ? admission.refusal.status : admission.kind)
  assert.equal(kindOf(ask("/d/chat/ok", { headers: {} })), "health")
  assert.equal(kindOf(ask("/d/chat/ok?live=1", { method: "HEAD", headers: {} })), "health")
  assert.equal(kindOf(ask("/d/chat/threads", { method: "OPTIONS", headers: preflight })), "preflight")
  assert.equal(kindOf(ask("/d/chat/threads")), "use")
  assert.equal(kindOf(ask("/d/chat/ok", { method: "POST", headers: {} })), 401)
  assert.equal(kindOf(ask("/d/chat/ok", { headers: {}, isUpgrade: true })), 401)
  assert.equal(statusOf(ask("/d/chat/threads", { method: "OPTIONS", headers: {} })), 401)
  assert.equal(statusOf(ask("/d/chat/threads", { method: "POST", headers: preflight })), 401)
  assert.equal(statusOf(ask("/d/chat/internal/activate", { method: "POST" })), 404)
  assert.equal(statusOf(ask("/d/chat//internal/status")), 404)
  assert.equal(statusOf(ask("/d/chat/internal/activate", { method: "OPTIONS", headers: preflight })), 404)
})

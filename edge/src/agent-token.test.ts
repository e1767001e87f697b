import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { admit } from "./admission.js"
import { readAgentToken, signAgentToken } from "./agent-token.js"
import { indexTable, type Route } from "./table.js"
import { key, readKey, route } from "./testing/harness.js"

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex")
const chat = { deploymentId: "deployment-of-chat", tokenKey: "1".repeat(64) }
const shop = { deploymentId: "deployment-of-shop", tokenKey: "2".repeat(64) }
const soon = Math.floor(Date.now() / 1000) + 600
const tokenOf = (apiKey: string, expiresAt = soon) => signAgentToken({ keySha256: hashOf(apiKey), expiresAt }, chat)

const tableWith = (change: Partial<Route> = {}) =>
  indexTable({
    generation: 1,
    routes: [
      route("chat", [], { token_key: chat.tokenKey, ...change }),
      route("shop", [], { token_key: shop.tokenKey }),
      route("older", []),
    ],
  })

const answer = (token: string, path = "/d/chat/threads", { method = "GET", table = tableWith() } = {}) => {
  const admission = admit({ method, url: path, headers: { "x-api-key": [token] } }, table, 100)
  return "refusal" in admission ? admission.refusal.status : "admitted"
}

test("a token has the rights that its key has at the moment of the request", () => {
  const [may, reads] = [tokenOf(key), tokenOf(readKey)]
  const demoted = tableWith({ keys: [], read_keys: [hashOf(key)] })

  assert.deepEqual([answer(may), answer(may, "/d/chat/runs", { method: "POST" })], ["admitted", "admitted"])
  assert.deepEqual([answer(reads), answer(reads, "/d/chat/runs", { method: "POST" })], ["admitted", 403])
  assert.equal(answer(may, "/d/chat/runs", { method: "POST", table: demoted }), 403)
})

test("a token is refused after its key was revoked, and after its end", () => {
  const revoked = tableWith({ keys: [], read_keys: [] })
  const now = new Date(soon * 1000)

  assert.equal(answer(tokenOf(key), "/d/chat/threads", { table: revoked }), 401)
  assert.equal(answer(tokenOf(key, Math.floor(Date.now() / 1000) - 1)), 401)
  assert.equal(readAgentToken(tokenOf(key), chat, now), undefined)
  assert.equal(readAgentToken(tokenOf(key), chat, new Date(now.getTime() - 1))?.keySha256, hashOf(key))
})

test("a token for one agent is refused at every other one, and opens nothing that is reserved for the platform", () => {
  assert.equal(answer(tokenOf(key), "/d/shop/threads"), 401)
  assert.equal(answer(tokenOf(key), "/d/older/threads"), 401)
  // The name may lead to another deployment later.
  assert.equal(answer(tokenOf(key), "/d/chat/threads", { table: tableWith({ deployment_id: "another" }) }), 401)
  assert.equal(answer(tokenOf(key), "/d/chat/internal/activate", { method: "POST" }), 404)
})

test("a token that was altered in any part is refused, and so is the hash of a key", () => {
  const token = tokenOf(readKey)
  const [head = "", end = "", signature = ""] = token.split(".")
  const altered = [
    `sst_${hashOf(key)}.${end}.${signature}`,
    `${head}.${soon + 60}.${signature}`,
    `${head}.${end}.${"A".repeat(43)}`,
    `${head}.${end}.`,
    `${head}.${end}`,
    `${token}.x`,
    `${head}.0${end}.${signature}`.replace("0", " "),
    `sst_${hashOf(key)}`,
    hashOf(key),
    "sst_",
  ]

  for (const it of altered) assert.equal(answer(it), 401, it)
})

test("a person's token says who they are, and neither that nor their right can be altered", () => {
  const member = "d".repeat(64)
  const ann = { person_id: "p1", name: "Ann Ångström", email: "ann@example.com" }
  const token = signAgentToken({ keySha256: member, expiresAt: soon, person: ann }, chat)
  const anonymous = signAgentToken({ keySha256: member, expiresAt: soon }, chat)
  const [head = "", end = "", whose = "", signature = ""] = token.split(".")
  const bob = signAgentToken({ keySha256: member, expiresAt: soon, person: { ...ann, person_id: "p2" } }, chat)
  const admitted = (table: ReturnType<typeof tableWith>, method = "POST") => {
    const admission = admit({ method, url: "/d/chat/runs", headers: { "x-api-key": [token] } }, table, 100)
    if ("refusal" in admission) return admission.refusal.status
    return [admission.person, admission.mayApprove, admission.isConsole]
  }

  assert.deepEqual(admitted(tableWith({ keys: [member] })), [ann, true, true])
  assert.deepEqual(admitted(tableWith({ no_approval_keys: [member] })), [ann, false, true])
  assert.equal(admitted(tableWith({ read_keys: [member] })), 403)
  assert.deepEqual(admitted(tableWith({ read_keys: [member] }), "GET"), [ann, false, false])
  assert.equal(admitted(tableWith()), 401)
  const altered = [
    [head, end, signature],
    [head, end, bob.split(".")[2], signature],
    [head, end, whose, anonymous.split(".")[2]],
    [head, end, `${whose}.p`, signature],
  ]
  const table = tableWith({ keys: [member] })
  for (const parts of altered) assert.equal(answer(parts.join("."), "/d/chat/threads", { table }), 401, parts.join("."))
})

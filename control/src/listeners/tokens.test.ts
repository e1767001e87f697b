import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { CentralFailed } from "./mirror/central.js"
import { createListener, createToken, deployTo, readyState, twoInstallations } from "./testing/two-installations.js"

const now = { known: {}, known_callers: "", wait_ms: 0 }
const refusedWith = (status: number, code: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CentralFailed, String(error))
  assert.equal(error.status, status, error.message)
  return code.test(error.message)
}

test("a token is shown once, works for one installation, and is refused once it is revoked (L3)", async () => {
  await using two = await twoInstallations()
  const { central, listenerId, token } = two
  const path = `/v2/listeners/${listenerId}`

  const unused = await central.call("GET", `${path}/tokens`)
  await two.follow().calls.work(now)
  const used = await central.call("GET", `${path}/tokens`)
  const listener = await central.call("GET", path)
  const [{ id }] = used.body.resources
  await assert.rejects(two.follow(token, "home-2").calls.work(now), refusedWith(403, /token_in_use/))
  const revoked = await central.call("DELETE", `${path}/tokens/${id}`)
  await assert.rejects(two.follow().calls.work(now), refusedWith(401, /Invalid listener token/))
  await assert.rejects(two.follow("ssl_unknown").calls.work(now), refusedWith(401, /Invalid listener token/))

  assert.deepEqual([unused.body.resources[0].is_used, used.body.resources[0].is_used], [false, true])
  assert.equal(revoked.status, 204)
  assert.ok(listener.body.last_seen_at)
  assert.equal(listener.body.version, "1.2.3")
  const kept = await central.db.rows<{ t: string }>(sql`
    select to_jsonb(t)::text as t from listener_tokens t union all select to_jsonb(a)::text from audit_log a`)
  assert.equal(JSON.stringify(kept).includes(token), false)
})

test("a token that is revoked while its request waits gets nothing (L3)", async () => {
  await using two = await twoInstallations()
  const { central, listenerId } = two
  const { calls } = two.follow()
  const { callers } = await calls.work(now)
  const path = `/v2/listeners/${listenerId}/tokens`
  const [{ id }] = (await central.call("GET", path)).body.resources

  await central.db.run(sql`update listeners set last_seen_at = null`)
  const waiting = calls.work({ ...now, known_callers: callers?.version ?? "", wait_ms: 20_000 })
  const refused = assert.rejects(waiting, refusedWith(401, /Invalid listener token/))
  const hasCalled = async () => (await central.call("GET", `/v2/listeners/${listenerId}`)).body.last_seen_at !== null
  await until(hasCalled, { what: "the token was accepted" })
  await central.call("DELETE", `${path}/${id}`)
  await deployTo(central, listenerId, "secret")

  await refused
})

test("a token gives the deployments of its own listener and nothing else, and is no key of the API (L5); a listener with deployments cannot be deleted, one without goes with its tokens", async () => {
  await using two = await twoInstallations()
  const { central, listenerId, token, url } = two
  const other = await createListener(central, "elsewhere")
  const own = await deployTo(central, listenerId, "own")
  const foreign = await deployTo(central, other.id, "foreign")
  const state = { ...readyState, is_gone: true }

  const seen = await two.follow().calls.work(now)
  const seenByOther = await two.follow(other.token).calls.work(now)
  const report = two.follow().calls.report({ deployment_id: foreign.id, after: 0, state, lines: [] })
  await assert.rejects(report, refusedWith(404, /not found/))
  const asKey = await fetch(`${url}/v2/deployments`, { headers: { "x-api-key": token } })
  const withoutToken = await fetch(`${url}/internal/listener/work`, {
    method: "POST",
    headers: { "x-api-key": central.apiKey },
    body: JSON.stringify(now),
  })

  assert.deepEqual([seen.assigned, seenByOther.assigned], [[own.id], [foreign.id]])
  assert.deepEqual(seen.changed[0]?.secrets, [{ version: 1, name: "MODEL_KEY", value: "sk-very-secret" }])
  assert.deepEqual([asKey.status, withoutToken.status], [401, 401])

  await createToken(central, listenerId)
  const { id } = own

  const refused = await central.call("DELETE", `/v2/listeners/${listenerId}`)
  await central.db.run(sql`delete from revisions where deployment_id = ${id}`).catch(() => undefined)
  await central.db.transaction(async (tx) => {
    await tx.run(sql`update deployments set latest_revision_id = null where deployment_id = ${id}`)
    await tx.run(sql`delete from deployments where deployment_id = ${id}`)
  })
  const deleted = await central.call("DELETE", `/v2/listeners/${listenerId}`)

  assert.deepEqual([refused.status, refused.body.code], [409, "in_use"])
  assert.equal(deleted.status, 204)
  await assert.rejects(two.follow().calls.work(now), refusedWith(401, /Invalid listener token/))
})

/** Certificates from a real authority over ACME; in place of the edge, a small server answers the stored challenges. */

import assert from "node:assert/strict"
import { X509Certificate } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { renewalTime, retryMs } from "./certificate.js"
import { certificatePem } from "./certificate-pem.js"
import { allChallenges } from "./certificate-queries.js"
import { createIssueLoop, type IssueOptions } from "./issue-loop.js"
import { startTestAuthority } from "./testing/test-authority.js"

const name = "agent.example.com"

async function setUp() {
  const api = await startApi({
    hostNames: { ownNames: new Set(), certFile: undefined, hasAuthority: true },
  })
  const { db } = api
  const server = await portServer(async ({ url, headers }, response) => {
    const known = await allChallenges(db)
    const found = known.find((it) => `/.well-known/acme-challenge/${it.token}` === url && it.host_name === headers.host)
    response.writeHead(found ? 200 : 404).end(found?.key_authorization)
  })
  const authority = await startTestAuthority({ httpPort: server.port })
  const start = async (change: Partial<IssueOptions> = {}) => {
    const loop = createIssueLoop({
      db,
      log: silent,
      key: api.key,
      authority: { directoryUrl: authority.directoryUrl, email: "operator@example.com" },
      publish: async () => undefined,
      ...change,
    })
    await loop.start()
    return { stop: () => loop.stop(), [Symbol.asyncDispose]: () => loop.stop() }
  }
  const dispose = async () => {
    await server[Symbol.asyncDispose]()
    await authority[Symbol.asyncDispose]()
    await api[Symbol.asyncDispose]()
  }
  return { api, authority, start, [Symbol.asyncDispose]: dispose }
}

async function addName(api: TestApi, hostName = name) {
  const { body } = await api.call("POST", "/v2/deployments", { body: exampleDeployment(`d-${hostName.split(".")[0]}`) })
  const path = `/v2/deployments/${body.id}/host-names`
  const added = await api.call("POST", path, { body: { name: hostName } })
  assert.equal(added.status, 201, added.text)
  assert.equal(added.body.status, "pending")
  const read = async () => (await api.call("GET", path)).body.resources[0]
  return {
    path,
    read,
    untilStatus: (status: string) =>
      until(async () => (await read()).status === status && read(), { what: `${hostName} is ${status}` }),
  }
}

/** The events about host names, in their order. */
const events = async (api: TestApi) => {
  const { body } = await api.call("GET", "/v2/events")
  return body.resources
    .filter(({ type }: { type: string }) => type.startsWith("host_name."))
    .map(({ type, data }: { type: string; data: Record<string, string> }) => [type, data.host_name, data.failure])
    .toReversed()
}

const makeDue = ({ db }: TestApi) =>
  db.transaction(async (tx) => {
    await tx.run(sql`update host_names set next_try_at = now()`)
    await tx.run(sql`select pg_notify('superstep_host_names', '')`)
  })

test("a name of a workspace gets a certificate of the authority, sealed, and an event; when it has expired, the name has failed (C1, C2)", async () => {
  await using it = await setUp()
  const { api, authority } = it
  await using _loop = await it.start()

  const added = await addName(api)
  const active = await added.untilStatus("active")

  const row = await api.db.row<{ certificate_sha256: string; private_key_sealed: string }>(
    sql`select * from host_names`,
  )
  const pem = await certificatePem(api, row?.certificate_sha256 ?? "")
  const certificate = new X509Certificate(pem)
  assert.ok(certificate.verify(new X509Certificate(authority.caPem).publicKey))
  assert.equal(certificate.checkHost(name), name)
  assert.match(pem, /BEGIN PRIVATE KEY/)
  assert.ok(!JSON.stringify(row).includes("PRIVATE KEY"), "the key is not stored in clear text")
  assert.deepEqual([active.failure, active.certificate_expires_at], [null, new Date(certificate.validTo).toISOString()])
  assert.ok(Date.parse(active.next_try_at) < Date.parse(active.certificate_expires_at))
  assert.deepEqual(fieldsOf(authority.accounts, "contact"), [["mailto:operator@example.com"]])
  assert.deepEqual(await events(api), [["host_name.active", name, undefined]])
  assert.deepEqual(await allChallenges(api.db), [], "the challenge is removed")
  const { text } = await api.call("GET", "/metrics", { headers: { "x-api-key": api.orgKey } })
  assert.match(
    text,
    new RegExp(`^superstep_host_name_expires_at_seconds\\{host_name="${name}",deployment_id=".*"\\} \\d+$`, "m"),
  )
  await api.db.run(sql`update host_names set valid_until = now() - interval '1 second'`)
  assert.equal((await added.read()).status, "failed")
})

test("a refusal is visible, is tried again, and ends when the authority agrees; a certificate is renewed, and stays in use while its renewal fails (C3, C4, C5)", async () => {
  await using it = await setUp()
  const { api, authority } = it
  authority.refusal = () => ({ type: "rejectedIdentifier", detail: "policy forbids this name", status: 403 })
  await using _loop = await it.start()
  const added = await addName(api)
  const failed = await added.untilStatus("failed")

  await makeDue(api)
  await until(() => authority.orders.length === 2, { what: "it was tried again" })
  authority.refusal = () => undefined
  await until(async () => (await added.read()).next_try_at > failed.next_try_at, {
    what: "the second failure is stored",
  })
  await makeDue(api)
  const active = await added.untilStatus("active")

  assert.match(failed.failure, /policy forbids this name/)
  assert.equal(active.failure, null)
  assert.deepEqual(await events(api), [
    ["host_name.failed", name, failed.failure],
    ["host_name.active", name, undefined],
  ])

  authority.refusal = () => ({ type: "rateLimited", detail: "too many certificates", status: 429 })
  await makeDue(api)
  const failing = await until(async () => (await added.read()).failure && added.read(), {
    what: "the renewal has failed",
  })
  authority.refusal = () => undefined
  authority.validMs *= 2
  await makeDue(api)
  const renewed = await until(async () => (await added.read()).failure === null && added.read(), {
    what: "it is renewed",
  })

  assert.deepEqual([failing.status, failing.certificate_expires_at], ["active", active.certificate_expires_at])
  assert.ok(renewed.certificate_expires_at > active.certificate_expires_at)
  assert.deepEqual(
    (await events(api)).map(([type]: string[]) => type),
    ["host_name.failed", "host_name.active", "host_name.failed", "host_name.active"],
  )
})

test("an authority that cannot be reached is a failure as any other, and an account that it has lost is made again", async () => {
  await using it = await setUp()
  const { api, authority } = it
  const directoryUrl = `http://127.0.0.1:${await freePort()}/directory`
  const first = await it.start({ authority: { directoryUrl, email: "operator@example.com" } })
  const added = await addName(api)
  const failed = await added.untilStatus("failed")
  await first.stop()

  await using _second = await it.start()
  await makeDue(api)
  await added.untilStatus("active")
  ;(authority.accounts as unknown[]).length = 0
  await makeDue(api)
  await until(async () => (await added.read()).failure, { what: "the renewal has failed" })
  await makeDue(api)
  await until(async () => (await added.read()).failure === null, { what: "the renewal has succeeded" })

  assert.match(failed.failure, /authority at 127\.0\.0\.1:\d+ cannot be reached: ECONNREFUSED/)
  assert.equal(authority.accounts.length, 1)
})

test("a stop in the middle of an order leaves the name to the next start (C6)", async () => {
  await using it = await setUp()
  const { api, authority } = it
  let proceed = (): void => undefined
  authority.patience = new Promise<void>((resolve) => {
    proceed = resolve
  })
  const first = await it.start()
  const added = await addName(api)
  await until(async () => (await allChallenges(api.db)).length === 1, { what: "an order is under way" })

  await first.stop()
  const stopped = await added.read()
  proceed()
  await using _second = await it.start()
  const active = await added.untilStatus("active")

  assert.deepEqual([stopped.status, stopped.failure, active.failure], ["pending", null, null])
})

test("of two loops each name is ordered by one, and a name that was removed meanwhile stores nothing (C1)", async () => {
  await using it = await setUp()
  const { api, authority } = it
  let proceed = (): void => undefined
  authority.patience = new Promise<void>((resolve) => {
    proceed = resolve
  })
  await using _one = await it.start()
  await using _other = await it.start()
  const names = ["a.example.com", "b.example.com", "c.example.com"]
  const added = await Promise.all(names.map((each) => addName(api, each)))
  await until(() => authority.orders.length === 3, { what: "each is ordered" })
  await api.call("DELETE", `${added[0]?.path}/a.example.com`)

  proceed()
  await Promise.all(added.slice(1).map(({ untilStatus }) => untilStatus("active")))

  assert.deepEqual(authority.orders.toSorted(), names)
  assert.equal(authority.accounts.length, 1, "both use one account")
  const stored = await api.db.rows<{ host_name: string }>(sql`select host_name from host_names order by host_name`)
  assert.deepEqual(fieldsOf(stored, "host_name"), ["b.example.com", "c.example.com"])
})

test("a certificate is renewed when a third of its time is left; pauses after failures grow to a day (C4, C5)", () => {
  const [validFrom, validUntil] = [new Date("2026-01-01T00:00:00Z"), new Date("2026-04-01T00:00:00Z")]

  assert.equal(renewalTime({ sha256: "", validFrom, validUntil }).toISOString(), "2026-03-02T00:00:00.000Z")
  const minutes = [1, 2, 3, 4, 7, 100].map((tries) => retryMs(tries) / 60_000)
  assert.deepEqual(minutes, [1, 5, 20, 60, 1440, 1440])
})

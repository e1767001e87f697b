import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { removeDeployment } from "../deployments/carried-queries.js"
import { exampleDeployment, startApi } from "../testing/api.js"
import { removeOldSecrets, secretsOfRevision } from "./operations.js"
import { CannotOpen, masterKey, open, seal } from "./seal.js"

const context = ["secret", "workspace", "deployment", "NAME", 1]

test("a sealed value opens with the same key and context, and differs each time (S1)", () => {
  const key = masterKey(randomBytes(32))
  for (const value of ["", "sk-1", "ä\n😀", "x".repeat(100_000)]) {
    const sealed = seal(key, value, context)

    assert.equal(open(key, sealed, context), value)
    assert.notEqual(seal(key, value, context), sealed)
    assert.ok(value === "" || !sealed.includes(value))
  }
})

test("a sealed value does not open in another place, with another key, truncated, or with a changed byte (S1)", () => {
  const key = masterKey(randomBytes(32))
  const sealed = seal(key, "secret", context)
  const places = [
    ["secret", "other", "deployment", "NAME", 1],
    ["secret", "workspace", "other", "NAME", 1],
    ["secret", "workspace", "deployment", "OTHER", 1],
    ["secret", "workspace", "deployment", "NAME", 2],
    ["secret", "workspace", "deploymentNAME", 1],
  ]

  for (const place of places) assert.throws(() => open(key, sealed, place), CannotOpen)
  assert.throws(() => open(masterKey(randomBytes(32)), sealed, context), CannotOpen)
  for (const broken of ["", "1", "2.a.b", sealed.slice(0, 30), "nonsense"]) {
    assert.throws(() => open(key, broken, context), CannotOpen)
  }
  assert.throws(() => masterKey(Buffer.from("password")), RangeError)

  const [format, id, text] = seal(key, "secret", context).split(".")
  const bytes = Buffer.from(text ?? "", "base64url")
  for (let index = 0; index < bytes.length; index += 1) {
    const changed = Buffer.from(bytes)
    changed[index] = (changed[index] ?? 0) ^ 1

    assert.throws(() => open(key, [format, id, changed.toString("base64url")].join("."), context), CannotOpen)
  }
})

test("reserved names are 400 and listed; tracing variables are allowed (S4)", async () => {
  await using api = await startApi()
  const send = (...names: string[]) =>
    api.call("POST", "/v2/deployments", {
      body: { ...exampleDeployment(), secrets: names.map((name) => ({ name, value: "x" })) },
    })

  const reserved = await send("OK", "DATABASE_URI", "PORT")
  const ours = await send("SUPERSTEP_UNIT_TOKEN")
  const free = await send(
    "LANGSMITH_API_KEY",
    "LANGCHAIN_TRACING_V2",
    "OPENAI_API_KEY",
    "SUPERSTEP_WEBHOOK_SIGNING_SECRET",
  )

  assert.equal(reserved.status, 400)
  assert.match(reserved.body.detail, /DATABASE_URI, PORT/)
  assert.equal(ours.status, 400)
  assert.equal(free.status, 201)
})

test("versions that no rollback can reach are deleted, and a deleted deployment leaves none (S9)", async () => {
  await using api = await startApi()
  const secrets = [{ name: "A", value: "value-1" }]
  const { body: deployment } = await api.call("POST", "/v2/deployments", { body: { ...exampleDeployment(), secrets } })
  const environment = (revisionId: string) => secretsOfRevision(api.db, api.key, { revision_id: revisionId })
  const path = `/v2/deployments/${deployment.id}`
  const end = (revisionId: string, status = "DEPLOYED") =>
    api.db.run(sql`update revisions set status = ${status}, stage = null where revision_id = ${revisionId}`)
  const next = async (value: string, status?: string): Promise<string> => {
    const { body } = await api.call("PUT", `${path}/secrets/A`, { body: { value } })
    await end(body.latest_revision_id, status)
    return body.latest_revision_id
  }
  const versions = async () => {
    const rows = await api.db.rows<{ version: number }>(sql`
      select distinct secrets_version as version from secrets where deployment_id = ${deployment.id} order by 1`)
    return rows.map(({ version }) => version)
  }
  const cleaning = { db: api.db, failures: new MemberFailures(silent) }
  const first: string = deployment.latest_revision_id
  await end(first)
  const failed = await next("value-2", "DEPLOY_FAILED")
  const third = await next("value-3")
  const fourth = await next("value-4")
  const serve = (id: string) =>
    api.db.run(sql`update deployments set active_revision_id = ${id} where deployment_id = ${deployment.id}`)
  await serve(first)
  await api.call("PUT", `${path}/secrets/A?deploy=false`, { body: { value: "value-5" } })
  await api.call("PUT", `${path}/secrets/A?deploy=false`, { body: { value: "value-6" } })

  await removeOldSecrets(cleaning, 2)

  assert.deepEqual(await versions(), [1, 3, 4, 6], "what serves, the last two that served, and what comes next")
  await serve(fourth)
  await removeOldSecrets(cleaning, 2)
  assert.deepEqual(await versions(), [3, 4, 6])
  for (const [action, revision_id] of [
    ["rollback", first],
    ["redeploy", failed],
  ]) {
    const address = action === "rollback" ? `${path}/rollback` : `${path}/revisions/${revision_id}/redeploy`
    const { status, body } = await api.call("POST", address, { body: action === "rollback" ? { revision_id } : {} })
    assert.deepEqual([status, body.code], [409, "secrets_removed"], action)
  }
  const back = await api.call("POST", `${path}/rollback`, { body: { revision_id: third } })
  assert.deepEqual(await environment(back.body.latest_revision_id), { A: "value-3" })
  await end(back.body.latest_revision_id)
  await serve(back.body.latest_revision_id)
  await removeOldSecrets(cleaning, 2)
  assert.deepEqual(await versions(), [3, 4], "a repetition takes nobody's place")
  await api.db.run(sql`update revisions set secrets_version = 9 where revision_id = ${failed}`)
  const { body: changed } = await api.call("PUT", `${path}/secrets/A`, { body: { value: "value-10" } })
  assert.equal(changed.secrets_version, 10, "no number that a revision has is given again")

  await api.db.transaction((tx) => removeDeployment(tx, deployment.id))
  assert.deepEqual(await versions(), [])
})

import assert from "node:assert/strict"
import { randomBytes, randomUUID } from "node:crypto"
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { identifier, sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { readConfig } from "./config.js"
import { foldersOf } from "./home/folders.js"
import { credentialsOf } from "./integrations/operations.js"
import { InvalidMasterKey, loadMasterKey, rotateMasterKey } from "./master-key.js"
import { openSecrets } from "./pushes/operations.js"
import { webhookOf } from "./pushes/queries.js"
import { secretsOfRevision } from "./secrets/operations.js"
import { CannotReseal } from "./secrets/reseal.js"
import { type MasterKey, masterKey, open, seal } from "./secrets/seal.js"
import { contextOf, sealedColumns } from "./secrets/sealed-columns.js"
import { exampleDeployment, migrations, startApi } from "./testing/api.js"

const newKey = () => randomBytes(32).toString("base64")
const keyOf = (text: string): MasterKey => masterKey(Buffer.from(text, "base64"))
const config = (env: Record<string, string> = {}) => readConfig({ DATABASE_URI: "postgres://localhost/x", ...env })
const inputOf = (env: Record<string, string> = {}) => {
  const folders = foldersOf(temporaryFolder())
  const at = (settings: Record<string, string>) => ({ config: config(settings), folders, log: silent })
  return { ...at(env), at, file: join(folders.home, "master.key"), next: join(folders.home, "master.key.next") }
}

const hostName = "agent.example.com"
const directoryUrl = "https://authority.example/directory"

/** An installation with a value in every encrypted column. */
async function installation() {
  const first = newKey()
  const key = keyOf(first)
  const api = await startApi({ key })
  const input = inputOf()
  writeFileSync(input.file, first)
  await loadMasterKey(input, api.db)
  const integrationId: string = (await api.integrate("git", "the-git-token")).id
  const secrets = ["the-first-hook-secret", "the-second-hook-secret"]
  await api.call("PUT", `/v2/integrations/git/${integrationId}/webhook`, { body: { secrets } })
  await api.call("POST", "/v2/webhooks", { body: { url: "https://93.184.216.34/hook" } })
  const { body: deployment } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const deploymentId: string = deployment.id
  const revisionId: string = deployment.latest_revision_id
  await api.call("PUT", `/v2/deployments/${deploymentId}/previews`, { body: { secrets: [{ name: "P", value: "p" }] } })
  const unitId = randomUUID()
  await api.db.run(sql`
    insert into units (unit_id, deployment_id, revision_id, token_sealed)
    values (${unitId}, ${deploymentId}, ${revisionId}, ${seal(key, "unit-token", contextOf.unit(unitId))})`)
  await api.db.run(sql`
    update deployments set database_name = 'x',
      database_password_sealed = ${seal(key, "database-password", contextOf.database(deploymentId))}`)
  await api.db.run(sql`
    insert into host_names (host_name, deployment_id, certificate, certificate_sha256, private_key_sealed, valid_from, valid_until)
    values (${hostName}, ${deploymentId}, 'pem', 'sha256', ${seal(key, "host-key", contextOf.hostName(hostName))}, now(), now())`)
  await api.db.run(sql`
    insert into acme_accounts (directory_url, private_key_sealed)
    values (${directoryUrl}, ${seal(key, "account-key", contextOf.acmeAccount(directoryUrl))})`)
  return { api, input, key, integrationId, deploymentId, revisionId, unitId }
}
type Installation = Awaited<ReturnType<typeof installation>>

const sealedValues = async ({ api }: Installation) => {
  const found = await Promise.all(
    sealedColumns.map(({ table, column }) =>
      api.db.rows<{ text: string }>(
        sql`select ${identifier(column)}::text as text from ${identifier(table)} order by 1`,
      ),
    ),
  )
  return found.map((rows) => rows.map(({ text }) => text))
}

/** All encrypted values, read by the platform's own functions. */
async function valuesOf(it: Installation, key: MasterKey) {
  const { db, workspaceId } = it.api
  const ids = { workspaceId, integrationId: it.integrationId }
  const credentials = await credentialsOf(db, key, ids)
  const webhook = await webhookOf(db, workspaceId, it.integrationId)
  const unit = await db.row<{ token_sealed: string }>(sql`select token_sealed from units`)
  const own = await db.row<{ sealed: string }>(sql`select database_password_sealed as sealed from deployments`)
  const host = await db.row<{ sealed: string }>(sql`select private_key_sealed as sealed from host_names`)
  const account = await db.row<{ sealed: string }>(sql`select private_key_sealed as sealed from acme_accounts`)
  assert.ok(webhook && unit && own && host && account && credentials.kind === "token")
  return {
    secrets: await secretsOfRevision(db, key, { revision_id: it.revisionId }),
    token: credentials.token.reveal(),
    webhook: openSecrets(key, webhook),
    unit: open(key, unit.token_sealed, contextOf.unit(it.unitId)),
    password: open(key, own.sealed, contextOf.database(it.deploymentId)),
    hostKey: open(key, host.sealed, contextOf.hostName(hostName)),
    accountKey: open(key, account.sealed, contextOf.acmeAccount(directoryUrl)),
  }
}

test("every encrypted column of the schema is in the list for key changes (S8)", async () => {
  await using db = await freshDatabase({ migrations })

  const columns = await db.rows<{ name: string }>(sql`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = 'public' and column_name like '%sealed' order by 1`)

  assert.deepEqual(fieldsOf(columns, "name"), sealedColumns.map(({ table, column }) => `${table}.${column}`).sort())
})

test("after a key change all values are the same, encrypted only with the new key (S8)", async () => {
  const it = await installation()
  await using _api = it.api
  const earlier = await valuesOf(it, it.key)
  const before = await sealedValues(it)
  assert.ok(before.every((values) => values.length > 0))

  const rotation = await rotateMasterKey(it.input, it.api.db)

  const key = await loadMasterKey(it.input, it.api.db)
  assert.deepEqual([rotation.from, rotation.to], [it.key.id, key.id])
  assert.equal(rotation.values, 10)
  assert.deepEqual(await valuesOf(it, key), earlier)
  for (const text of (await sealedValues(it)).flat()) {
    assert.ok(text.includes(`1.${key.id}.`) && !text.includes(it.key.id), text)
  }
  assert.equal(statSync(it.input.file).mode & 0o777, 0o600)
  assert.equal(existsSync(it.input.next), false)
  assert.equal((await rotateMasterKey(it.input, it.api.db)).from, key.id)
})

test("a change that was killed before or after its commit is undone or completed by the next start (S8)", async () => {
  const it = await installation()
  await using _api = it.api
  const first = readFileSync(it.input.file, "utf8")
  writeFileSync(it.input.next, newKey())

  assert.equal((await loadMasterKey(it.input, it.api.db)).id, it.key.id)

  assert.equal(existsSync(it.input.next), false)
  const { to } = await rotateMasterKey(it.input, it.api.db)
  // The state between the commit and the renaming.
  writeFileSync(it.input.next, readFileSync(it.input.file))
  writeFileSync(it.input.file, first)
  assert.equal((await loadMasterKey(it.input, it.api.db)).id, to)
  assert.equal(keyOf(readFileSync(it.input.file, "utf8")).id, to)
  writeFileSync(it.input.file, first)
  await assert.rejects(loadMasterKey(it.input, it.api.db), (error: Error) => {
    assert.ok(error instanceof InvalidMasterKey)
    assert.match(error.message, new RegExp(`is the master key ${it.key.id}, but the database is encrypted with ${to}`))
    return true
  })
  rmSync(it.input.file)
  await assert.rejects(loadMasterKey(it.input, it.api.db), /master.key is missing, but the database is encrypted with/)
  assert.equal(existsSync(it.input.file), false, "no other key is made")
})

test("a value that no key can decrypt is listed, and nothing is changed (S8)", async () => {
  const it = await installation()
  await using _api = it.api
  const stranger = seal(keyOf(newKey()), "x", contextOf.unit(it.unitId))
  await it.api.db.run(sql`update units set token_sealed = ${stranger}`)
  const before = await sealedValues(it)

  await assert.rejects(rotateMasterKey(it.input, it.api.db), (error: Error) => {
    assert.ok(error instanceof CannotReseal)
    assert.match(error.message, new RegExp(`nothing was changed: .* units \\(unit_id ${it.unitId}\\)`))
    return true
  })

  assert.deepEqual(await sealedValues(it), before)
  assert.equal((await loadMasterKey(it.input, it.api.db)).id, it.key.id)
})

test("a key from the settings is changed to the next one in the settings, which must then be updated (S8)", async () => {
  const it = await installation()
  await using _api = it.api
  const SUPERSTEP_MASTER_KEY = readFileSync(it.input.file, "utf8")
  const SUPERSTEP_NEXT_MASTER_KEY = newKey()
  const settings = it.input.at({ SUPERSTEP_MASTER_KEY, SUPERSTEP_NEXT_MASTER_KEY })
  await assert.rejects(rotateMasterKey(it.input.at({ SUPERSTEP_MASTER_KEY }), it.api.db), /SUPERSTEP_NEXT_MASTER_KEY/)

  const done = await rotateMasterKey(settings, it.api.db)
  const again = await rotateMasterKey(settings, it.api.db)

  assert.deepEqual([done.values, again.values], [10, 0])
  assert.match(done.toDo ?? "", /set SUPERSTEP_MASTER_KEY to the value of SUPERSTEP_NEXT_MASTER_KEY/)
  assert.equal(again.toDo, done.toDo)
  await assert.rejects(loadMasterKey(settings, it.api.db), InvalidMasterKey)
  const changed = it.input.at({ SUPERSTEP_MASTER_KEY: SUPERSTEP_NEXT_MASTER_KEY })
  assert.equal((await valuesOf(it, await loadMasterKey(changed, it.api.db))).token, "the-git-token")
})

test("the first key is created once, readable only by its owner; a wrong key is refused, also with an older database", async () => {
  await using db = await freshDatabase({ migrations })
  const input = inputOf()

  const key = await loadMasterKey(input, db)

  assert.equal((await loadMasterKey(input, db)).id, key.id)
  assert.equal(statSync(input.file).mode & 0o777, 0o600)
  await assert.rejects(loadMasterKey(input.at({ SUPERSTEP_MASTER_KEY: "short" }), db), InvalidMasterKey)
  await assert.rejects(loadMasterKey(input.at({ SUPERSTEP_MASTER_KEY: newKey() }), db), InvalidMasterKey)
  const it = await installation()
  await using _api = it.api
  await it.api.db.run(sql`delete from master_key`)
  await assert.rejects(loadMasterKey(it.input.at({ SUPERSTEP_MASTER_KEY: newKey() }), it.api.db), InvalidMasterKey)
  assert.equal((await loadMasterKey(it.input, it.api.db)).id, it.key.id)
})

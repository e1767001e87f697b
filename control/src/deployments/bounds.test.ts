/** Limits of requests: of `resource_spec`, of a workspace, and of stored data. */
import assert from "node:assert/strict"
import { cpSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { migrate } from "@superstep/toolkit/db/migrate"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { v7 as newId } from "uuid"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { exampleDeployment, migrations, startApi, type TestApi } from "../testing/api.js"

const create = (api: TestApi, resource_spec: object) =>
  api.call("POST", "/v2/deployments", { body: exampleDeployment("shop-bot", { resource_spec }) })
const patch = (api: TestApi, id: string, resource_spec: object) =>
  api.call("PATCH", `/v2/deployments/${id}`, { body: { source_config: { resource_spec } } })
const at = (field: string) => ["body", "source_config", "resource_spec", field]

test("every number of a resource_spec has a bound", async () => {
  await using api = await startApi()
  const { body: stored } = await create(api, { min_scale: 1 })
  const fields = Object.keys((await api.call("GET", "/openapi.json")).body.components.schemas.ResourceSpec.properties)
  const numbers = fields.filter((field) => /scale|cpu|memory_mb|_limit|storage_gi|connections/.test(field))
  assert.ok(numbers.length > 30, "most fields are numbers")

  for (const field of numbers) {
    const ofUnits = field === "memory_mb" || field === "memory_limit_mb"
    for (const value of [1e12, -1, ...(ofUnits ? [127] : [])]) {
      const reply = await patch(api, stored.id, { [field]: value })

      assert.equal(reply.status, 422, `${field}: ${value}`)
      assert.deepEqual(reply.body.detail[0].loc, at(field))
    }
  }
  assert.deepEqual((await api.call("GET", `/v2/deployments/${stored.id}`)).body, stored)
})

test("min_scale above max_scale is 422, also when one of the two is stored", async () => {
  await using api = await startApi()

  const created = await create(api, { min_scale: 3, max_scale: 2 })
  const { body: stored } = await create(api, { min_scale: 2, max_scale: 4 })
  const more = await patch(api, stored.id, { min_scale: 5 })
  const fewer = await patch(api, stored.id, { max_scale: 1 })
  const both = await patch(api, stored.id, { min_scale: 5, max_scale: 5 })
  const other = await patch(api, stored.id, { cpu: 2 })

  assert.deepEqual([created.status, created.body.detail[0].loc], [422, at("min_scale")])
  assert.deepEqual([more.status, more.body.detail[0].loc], [422, at("min_scale")])
  assert.match(more.body.detail[0].msg, /5 is above max_scale, which is 4: send both/)
  assert.deepEqual([fewer.status, fewer.body.detail[0].loc], [422, at("max_scale")])
  assert.equal(both.status, 200)
  assert.equal(other.status, 200)
})

test("the database itself refuses rows beyond the bounds", async () => {
  await using db = await freshDatabase({ migrations })
  const deploymentId = await addDeployment(db)
  const revisionId = await addRevision(db, deploymentId)
  const specs = [{ min_scale: 101 }, { max_scale: 1e9 }, { min_scale: 3, max_scale: 2 }, { db_max_connections: 1e10 }]

  for (const resource_spec of specs) {
    const config = JSON.stringify({ resource_spec })
    const statements = [
      sql`update deployments set source_config = ${config}::jsonb`,
      sql`update revisions set source_config = ${config}::jsonb`,
    ]
    for (const statement of statements) await assert.rejects(db.run(statement), /violates check constraint/, config)
  }
  const unit = sql`
    insert into units (unit_id, deployment_id, revision_id, ordinal, token_sealed)
    values (${newId()}, ${deploymentId}, ${revisionId}, 100, '')`
  await assert.rejects(db.run(unit), /violates check constraint/)
})

test("stored values of earlier releases beyond the bounds are reduced to them", async () => {
  await using db = await freshDatabase()
  const log = createLog({ process: "test", level: "silent" })
  const former = join(temporaryFolder(), "migrations")
  cpSync(migrations, former, {
    recursive: true,
    filter: (path) => (/\d{6}_.*sql$/.exec(path)?.[0] ?? "") < "000011",
  })
  assert.equal(readdirSync(former).filter((name) => name >= "000011" && name < "1").length, 0)
  await migrate({ uri: db.uri, folder: former, log })
  const deploymentId = await addDeployment(db)
  const revisionId = await addRevision(db, deploymentId)
  const spec = { min_scale: 100_000, max_scale: 7, db_max_connections: 1e12, cpu: 2, labels: { team: "a" } }
  const config = JSON.stringify({ resource_spec: spec, repo_url: "https://github.com/acme/shop" })
  await db.run(sql`update deployments set source_config = ${config}::jsonb`)
  await db.run(sql`update revisions set source_config = ${config}::jsonb`)
  await db.run(sql`
    insert into units (unit_id, deployment_id, revision_id, ordinal, state, token_sealed)
    select gen_random_uuid(), ${deploymentId}, ${revisionId}, n, 'starting', '' from generate_series(0, 100000) n`)

  await migrate({ uri: db.uri, folder: migrations, log })

  const bounded = { ...spec, min_scale: 100, max_scale: 100, db_max_connections: 262_143 }
  for (const table of [sql`deployments`, sql`revisions`]) {
    const row = await db.row<{ source_config: object }>(sql`select source_config from ${table}`)
    assert.deepEqual(row?.source_config, { ...JSON.parse(config), resource_spec: bounded })
  }
  assert.deepEqual(await db.row(sql`select count(*) as units, max(ordinal) as last from units`), {
    units: 100,
    last: 99,
  })
})

import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { secretsOfRevision } from "../secrets/operations.js"
import { CannotOpen, open } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { assertReadable, InTheWay, insertSaved, readSaved, release } from "./operations.js"

/** A deployment with an integration, in an installation that is to be read as a backup. */
async function backupOf(api: TestApi, name = "shop-bot") {
  const integration = await api.integrate("hub", "ghp_secret")
  const { id } = await api.deploy(name, { integration_id: integration.id })
  return { id: id as string, integrationId: integration.id as string }
}

test("a deployment goes into another installation, with its secrets and integration under that one's key", async () => {
  await using from = await startApi()
  await using to = await startApi()
  const { id, integrationId } = await backupOf(from)
  const saved = await readSaved(from.db, "shop-bot")
  const place = { workspaceId: to.other.workspaceId, name: "bot" }
  const keys = { key: to.key, former: [to.key, from.key] }

  assertReadable(saved, keys)
  await insertSaved(to.db, saved, { place, keys, databasePasswordSealed: null })
  const wanted = () =>
    to.db.row<{ state: string }>(sql`select desired_run_state as state from deployments where deployment_id = ${id}`)
  const before = await wanted()
  await release(to.db, saved)
  const released = await to.callAsOther("GET", `/v2/deployments/${id}`)

  assert.deepEqual([before?.state, (await wanted())?.state], ["paused", "running"])
  assert.equal(released.body.name, "bot")
  assert.equal(released.body.source_config.integration_id, integrationId)
  const revisionId = released.body.latest_revision_id as string
  assert.deepEqual(await secretsOfRevision(to.db, to.key, { revision_id: revisionId }), { MODEL_KEY: "sk-very-secret" })
  const { token_sealed: token } = (await to.db.row<{ token_sealed: string }>(
    sql`select token_sealed from integrations where integration_id = ${integrationId}`,
  )) ?? { token_sealed: "none" }
  assert.equal(open(to.key, token, contextOf.integration(to.other.workspaceId, integrationId)), "ghp_secret")
  const rows = await to.db.rows<{ stage: string | null; status: string }>(sql`select stage, status from revisions`)
  assert.deepEqual(rows, [{ stage: null, status: "INTERRUPTED" }], "what was under way has ended")
  const books = await to.db.rows(sql`select 1 from log_books where deployment_id = ${id}`)
  assert.equal(books.length, 2)
  const { body: events } = await to.callAsOther("GET", `/v2/deployments/${id}/events`)
  assert.deepEqual(fieldsOf(events.resources, "type", "data"), [
    ["deployment.created", { name: "bot", is_restored: true }],
  ])
})

test("what stands in the way is named, and nothing is inserted", async () => {
  await using from = await startApi()
  await using to = await startApi()
  await backupOf(from)
  const saved = await readSaved(from.db, "shop-bot")
  const { body: other } = await to.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const place = { workspaceId: to.workspaceId, name: "shop-bot" }
  const insert = (name: string, former = [from.key]) =>
    insertSaved(to.db, saved, {
      place: { ...place, name },
      keys: { key: to.key, former },
      databasePasswordSealed: null,
    })

  await assert.rejects(
    insert("shop-bot"),
    (error: Error) => error instanceof InTheWay && error.message.includes(other.id),
  )
  await assert.rejects(insert("bot", [to.key]), CannotOpen)
  assert.throws(() => assertReadable(saved, { key: to.key, former: [to.key] }), CannotOpen)
  const rows = await to.db.rows(sql`select 1 from deployments union all select 1 from integrations`)
  assert.equal(rows.length, 1)

  await insert("bot")
  await assert.rejects(insert("bot-2"), /exists: replace it with --replace/)
})

test("a name in several workspaces is asked for by id, and a preview or an unknown one is not found", async () => {
  await using api = await startApi()
  const { body: own } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  await api.callAsOther("POST", "/v2/deployments", { body: exampleDeployment() })

  await assert.rejects(readSaved(api.db, "shop-bot"), (error: Error) => {
    return error instanceof Conflict && error.message.includes(own.id)
  })
  assert.equal((await readSaved(api.db, own.id.toUpperCase())).deployment_id, own.id)
  await api.db.run(sql`update deployments set is_preview = true where deployment_id = ${own.id}`)
  await assert.rejects(readSaved(api.db, own.id), NotFound)
  await assert.rejects(readSaved(api.db, "nobody"), NotFound)
})

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { openDatabase } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { interruptRevision } from "../revisions/claims.js"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { listEvents, recordEvent } from "./operations.js"
import { deleteOldEvents } from "./queries.js"

const all = { order: "asc", cursor: undefined, limit: 100 } as const

async function deployed(api: TestApi, name?: string) {
  const { body } = await api.call("POST", "/v2/deployments", { body: exampleDeployment(name) })
  return {
    workspaceId: api.workspaceId,
    deploymentId: body.id as string,
    revisionId: body.latest_revision_id as string,
  }
}

const note = (db: Db, ids: { workspaceId: string; deploymentId: string }, n: number) =>
  recordEvent(db, { ...ids, type: "quota.warning", data: { n } })

test("changes of a deployment and its revisions are recorded by triggers (E1)", async () => {
  await using api = await startApi()
  const ids = await deployed(api)

  await api.call("PATCH", `/v2/deployments/${ids.deploymentId}`, { body: { display_name: "Shop" } })
  await interruptRevision(api.db, ids.revisionId)
  await api.call("DELETE", `/v2/deployments/${ids.deploymentId}`)
  await api.db.run(sql`delete from deployments where deployment_id = ${ids.deploymentId}`)

  const { events } = await listEvents(api.db, ids, all)
  assert.deepEqual(
    events.map(({ type, data }) => [type, data.status ?? null, data.changed ?? data.previous_status ?? null]),
    [
      ["deployment.created", "AWAITING_DATABASE", null],
      ["revision.status_changed", "CREATING", null],
      ["deployment.updated", "AWAITING_DATABASE", ["display_name"]],
      ["revision.status_changed", "INTERRUPTED", "CREATING"],
      ["deployment.updated", "AWAITING_DELETE", ["delete_requested_at", "status"]],
      ["deployment.deleted", null, null],
    ],
  )
  assert.equal(JSON.stringify(events).includes("sk-very-secret"), false)
})

test("an event exists if its cause is committed, only in its workspace, and until it is old (E1, E4)", async () => {
  await using api = await startApi()
  const ids = await deployed(api)
  const before = await listEvents(api.db, ids, all)

  const failed = api.db.transaction(async (tx) => {
    await note(tx, ids, 1)
    throw new Error("changed my mind")
  })

  await assert.rejects(failed, /changed my mind/)
  assert.deepEqual(await listEvents(api.db, ids, all), before)

  const foreign = await listEvents(api.db, { ...ids, workspaceId: api.other.workspaceId }, all)
  await api.db.run(sql`update events set created_at = now() - interval '31 days' where type = 'deployment.created'`)
  const forgotten = await deleteOldEvents(api.db, 30)

  assert.deepEqual([foreign.events.length, forgotten], [0, 1])
})

test("an event that is committed late gets a later number, so a reader misses none (E2)", async () => {
  await using api = await startApi()
  const ids = await deployed(api)
  await using other = openDatabase({ uri: api.db.uri, log: silent })
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  let isWritten = false
  const slow = other.transaction(async (tx) => {
    await note(tx, ids, 1)
    isWritten = true
    await finished
  })
  await until(() => isWritten, { what: "the slow one has written" })

  await note(api.db, ids, 2)
  const first = await listEvents(api.db, ids, all)
  finish()
  await slow
  const then = await listEvents(api.db, ids, { ...all, cursor: Number(first.nextCursor) })

  assert.deepEqual([first.events.at(-1)?.data.n, then.events.map(({ data }) => data.n)], [2, [1]])
})

test("rollbacks and crash loops are recorded (E1)", async () => {
  await using api = await startApi()
  const { deploymentId, revisionId, workspaceId } = await deployed(api)
  const changed = await api.change(deploymentId, { source_revision_config: { repo_ref: "next" } })
  const second = changed.latest_revision_id as string
  const activate = (id: string) =>
    api.db.run(sql`update deployments set active_revision_id = ${id} where deployment_id = ${deploymentId}`)
  await api.db.run(sql`
    insert into units (unit_id, deployment_id, revision_id, token_sealed)
    values (${randomUUID()}, ${deploymentId}, ${second}, 'x')`)

  for (const crashes of [1, 2, 3]) await api.db.run(sql`update units set crashes = ${crashes}`)
  for (const id of [revisionId, second, revisionId]) await activate(id)

  const { events } = await listEvents(api.db, { workspaceId, deploymentId }, all)
  const reported = events.filter(({ type }) => type === "unit.crash_loop" || type === "revision.rolled_back")
  assert.deepEqual(
    reported.map((event) => [event.type, event.revision_id, event.data.crashes ?? event.data.to_revision_id]),
    [
      ["unit.crash_loop", second, 2],
      ["revision.rolled_back", second, revisionId],
    ],
  )
})

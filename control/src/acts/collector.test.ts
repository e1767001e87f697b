/** What units report that a deployment's own code has changed, or that fail (PA2, PA3). */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { origin } from "../console/testing/sign-in.js"
import { acceptLink, invitationOf } from "../people/testing/people.js"
import type { PipelineContext } from "../planner/context.js"
import type { UnitRow } from "../planner/facts.js"
import { pipelineContext } from "../planner/testing/pipeline-context.js"
import { addUnitRow } from "../planner/testing/unit-row.js"
import { startApi, type TestApi } from "../testing/api.js"
import { collect, collectAll } from "./collector.js"
import { HourlyRoom } from "./hourly-room.js"

/** A unit in whose place the deployment's code answers. */
async function startUnit(acts: () => readonly object[], confirms = 204) {
  const confirmed: string[] = []
  const server = await portServer(async (request, response) => {
    if (request.method === "GET") return response.end(JSON.stringify(acts()))
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    confirmed.push(...(JSON.parse(Buffer.concat(chunks).toString()) as string[]))
    response.writeHead(confirms).end()
  })
  return { ...server, confirmed }
}

/** @param urls  of the units, by their ids */
const contextFor = ({ db, key }: TestApi, urls: ReadonlyMap<string, string>): PipelineContext =>
  pipelineContext({ db, key, machine: { units: { address: (id: string) => urls.get(id) } } })

async function unitOfWorkspace(api: TestApi): Promise<UnitRow> {
  const unit = await addUnitRow(api)
  await api.db.run(
    sql`update deployments set workspace_id = ${api.workspaceId} where deployment_id = ${unit.deployment_id}`,
  )
  return unit
}

async function joined(api: TestApi, name: string, asOther = false) {
  const token = await invitationOf(api, `${name}@example.com`, "approve", asOther)
  return (await acceptLink(api, token, name)).body.person as object & { person_id: string }
}

const answerOf = (person: object, it: object = {}) => ({
  act_id: randomUUID(),
  acted_at: new Date().toISOString(),
  kind: "answer",
  person,
  thread_id: randomUUID(),
  run_id: randomUUID(),
  checkpoint_id: null,
  changed: null,
  thing: null,
  ...it,
})

const entriesOf = (api: TestApi) =>
  api.db.rows<{ audit_id: string; at: Date; actor_name: string }>(
    sql`select audit_id, at, actor_name from audit_log where resource_type = 'thread' order by at, audit_id`,
  )

test("a reported act counts for members of the deployment's workspace, present and past, and names what it made (PA2)", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })
  const [ann, left] = [await joined(api, "ann"), await joined(api, "left")]
  const stranger = await joined(api, "zoe", true)
  await api.call("DELETE", `/v2/members/${left.person_id}`)
  const good = [answerOf(ann), answerOf(left), answerOf(ann, { kind: "edit", run_id: null, checkpoint_id: "1" })]
  const bad = [answerOf(stranger), answerOf(ann, { run_id: null }), answerOf(ann, { kind: "edit" })]
  await using unit = await startUnit(() => [...good, ...bad])
  const row = await unitOfWorkspace(api)

  await collect(contextFor(api, new Map([[row.unit_id, unit.origin]])), row, new HourlyRoom(100))

  const ids = (await entriesOf(api)).map(({ audit_id }) => audit_id)
  assert.deepEqual(ids.sort(), good.map(({ act_id }) => act_id).sort())
  assert.equal(unit.confirmed.length, 6)
})

test("a reported deletion names the thing and what it was, and the deployment (PA2)", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })
  const ann = await joined(api, "ann")
  const [threadId, runId, assistantId] = [randomUUID(), randomUUID(), randomUUID()]
  const deleted = (thing: object | null, thread_id: string | null = null) =>
    answerOf(ann, { kind: "delete", run_id: null, thread_id, thing })
  const acts = [
    deleted({ type: "thread", id: threadId, name: null }, threadId),
    deleted({ type: "run", id: runId, name: null }, threadId),
    deleted({ type: "assistant", id: assistantId, name: "Support" }),
    deleted({ type: "store_item", id: "notes.ann/first", name: null }),
    answerOf(ann, {
      kind: "expire",
      run_id: null,
      thread_id: threadId,
      thing: { type: "thread", id: threadId, name: "delete after 60 minutes" },
    }),
    // Code of the deployment may report anything.
    deleted(null),
    answerOf(ann, { thread_id: null }),
  ]
  await using unit = await startUnit(() => acts)
  const row = await unitOfWorkspace(api)
  const { name, route_name: route } = (await api.db.row<{ name: string; route_name: string }>(
    sql`select name, route_name from deployments where deployment_id = ${row.deployment_id}`,
  )) ?? { name: "", route_name: "" }

  await collect(contextFor(api, new Map([[row.unit_id, unit.origin]])), row, new HourlyRoom(100))

  const { body } = await api.call("GET", `/v2/audit-log?actor=person:${ann.person_id}`)
  const told = body.resources
    .filter(({ path }: { path: string }) => path.startsWith("/d/"))
    .map((it: Record<string, unknown>) => [it.action, it.resource_type, it.resource_id, it.resource_name, it.path])
  assert.deepEqual(told.reverse(), [
    ["deleted thread", "thread", threadId, name, `/d/${route}/threads/${threadId}`],
    ["deleted run", "run", runId, name, `/d/${route}/threads/${threadId}/runs/${runId}`],
    ["deleted assistant", "assistant", assistantId, `${name}: Support`, `/d/${route}/assistants/${assistantId}`],
    ["deleted store item", "store_item", "notes.ann/first", name, `/d/${route}/store/items`],
    [
      "set time to live of thread",
      "thread",
      threadId,
      `${name}: delete after 60 minutes`,
      `/d/${route}/threads/${threadId}`,
    ],
  ])
  assert.equal((await entriesOf(api)).length, 2)
})

test("an act was done while its deployment existed, whatever the report says (PA2)", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })
  const ann = await joined(api, "ann")
  const times = ["2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"]
  await using unit = await startUnit(() => times.map((acted_at) => answerOf(ann, { acted_at })))
  const row = await unitOfWorkspace(api)
  const made = await api.db.row<{ created_at: Date }>(
    sql`select created_at from deployments where deployment_id = ${row.deployment_id}`,
  )

  await collect(contextFor(api, new Map([[row.unit_id, unit.origin]])), row, new HourlyRoom(100))

  const [first, last] = await entriesOf(api)
  assert.equal(first?.at.getTime(), made?.created_at.getTime())
  assert.ok((last?.at ?? new Date("2999-01-01")) <= new Date(), String(last?.at))
})

test("a deployment adds so many entries in an hour, and as many in the next one; the others wait at its server (PA3)", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })
  const ann = await joined(api, "ann")
  await using unit = await startUnit(() => [answerOf(ann), answerOf(ann)], 500)
  const row = await unitOfWorkspace(api)
  const [context, room] = [contextFor(api, new Map([[row.unit_id, unit.origin]])), new HourlyRoom(3)]

  for (let pass = 0; pass < 4; pass++) await collect(context, row, room).catch(() => undefined)

  assert.deepEqual([(await entriesOf(api)).length, unit.confirmed.length], [3, 3])

  const hourly = new HourlyRoom(3)
  const nextHour = 3_600_000

  hourly.take("a", 2)

  assert.deepEqual([hourly.left("a", 0), hourly.left("b", 0), hourly.left("a", nextHour)], [1, 3, 3])
})

test("a deployment whose server fails holds up no other (PA3)", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })
  const ann = await joined(api, "ann")
  await using failing = await startUnit(() => [answerOf(ann)], 500)
  await using honest = await startUnit(() => [answerOf(ann)])
  const rows = [await unitOfWorkspace(api), await unitOfWorkspace(api), await unitOfWorkspace(api)]
  const urls = [failing.origin, honest.origin, failing.origin]
  const context = contextFor(api, new Map(rows.map(({ unit_id }, index) => [unit_id, urls[index] ?? ""])))

  await collectAll(context, rows, new HourlyRoom(100))

  assert.deepEqual([honest.confirmed.length, context.failures.size], [1, 2])
})

/** What people did at a real agent server comes into the audit log once (PA1, PA2). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { collect } from "@superstep/control/acts/collector"
import { HourlyRoom } from "@superstep/control/acts/hourly-room"
import { origin } from "@superstep/control/console/testing/sign-in"
import { acceptLink, invitationOf } from "@superstep/control/people/testing/people"
import type { PipelineContext } from "@superstep/control/planner/context"
import { addUnitRow } from "@superstep/control/planner/testing/unit-row"
import { open } from "@superstep/control/secrets/seal"
import { contextOf } from "@superstep/control/secrets/sealed-columns"
import { startApi } from "@superstep/control/testing/api"
import type { Address } from "@superstep/protocol/http/address"
import { personHeader, unitHeader } from "@superstep/protocol/http/own-headers"
import { personText } from "@superstep/protocol/http/person"
import { freshHttp } from "@superstep/server/testing/test-http"
import { sql } from "@superstep/toolkit/db/sql"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { silent } from "@superstep/toolkit/testing/test-cluster"

test("an edit at an agent becomes one entry of the person, however often it is reported; acts of nobody become none", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })
  const { body: session } = await acceptLink(api, await invitationOf(api, "ann@example.com", "approve"), "Ann")
  const unit = await addUnitRow(api)
  await api.db.run(
    sql`update deployments set workspace_id = ${api.workspaceId} where deployment_id = ${unit.deployment_id}`,
  )
  const unitToken = open(api.key, unit.token_sealed, contextOf.unit(unit.unit_id))
  await using server = await freshHttp({ unitToken })
  server.server.workers.answer = async () => ({
    fields: {
      checkpoint: { checkpoint_ns: "", checkpoint_id: "1" },
      puts: [{ checkpoint_ns: "", checkpoint_id: "1", blobs: [] }],
    },
    payload: ["{}", "{}", "{}", "{}"].map((line) => Buffer.from(line)),
  })
  const address = server.url as Address
  const machine = { units: { address: () => address } }
  const context = { db: api.db, key: api.key, log: silent, failures: new MemberFailures(silent), machine }
  const collected = () => collect(context as unknown as PipelineContext, unit, new HourlyRoom(100))
  const edit = async (person: object) => {
    const headers = { [unitHeader]: unitToken, [personHeader]: personText(person as never) }
    const { json } = await server.send("POST", "/threads", { metadata: { graph_id: "agent" } }, headers)
    const { thread_id: id } = json as { thread_id: string }
    const { status, text } = await server.send("POST", `/threads/${id}/state`, { values: { paid: true } }, headers)
    assert.equal(status, 200, text)
    return id
  }

  // The agent names her as it likes; the entry has the name of the account.
  const threadId = await edit({ ...session.person, name: "Mallory" })
  await edit({ person_id: randomUUID(), name: "Nobody", email: "no@example.com" })
  const reported = await server.send("GET", "/internal/acts", undefined, { [unitHeader]: unitToken })
  const first = await collected()
  const [act] = reported.json as { act_id: string }[]
  // As if the process had died between the commit and the confirmation.
  await server.server.db.run(
    sql`insert into unaudited_acts (act_id, act) values (${act?.act_id}, ${JSON.stringify(act)})`,
  )
  const again = await collected()
  const { body } = await api.call("GET", "/v2/audit-log?resource_type=thread")
  const { body: chain } = await api.call("GET", "/v2/audit-log/verification")

  const { name, route_name: route } = (await api.db.row<{ name: string; route_name: string }>(
    sql`select name, route_name from deployments where deployment_id = ${unit.deployment_id}`,
  )) ?? { name: "", route_name: "" }
  assert.deepEqual([first, again, await collected()], [2, 1, 0])
  assert.equal(body.resources.length, 1)
  const { id, actor, actor_name, action, resource_id, resource_name, changed, path } = body.resources[0]
  assert.deepEqual([id, actor, actor_name], [act?.act_id, `person:${session.person.person_id}`, "Ann"])
  assert.deepEqual([action, resource_id, resource_name, changed], ["changed state of thread", threadId, name, ["paid"]])
  assert.equal(path, `/d/${route}/threads/${threadId}/state/1`)
  assert.equal(chain.valid, true)
})

/** What a server answers to the control plane is what the schema of replies declares (protocol/unit). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { PreflightRule } from "@superstep/protocol/edge/validators"
import { received } from "@superstep/protocol/schemas/received"
import { Acts, Idle, Orphans, Pins, RunCounts, Status } from "@superstep/protocol/unit/validators"
import { recordDeletions } from "../acts/deletions.js"
import { insertAct } from "../acts/queries.js"
import { anyone } from "../auth/caller.js"
import { freshHttp } from "../testing/test-http.js"

test("the control plane accepts each reply of a server and drops no field of it", async () => {
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "r1" })
  const token = { "x-superstep-unit": "sesame" }
  await http.send("POST", "/internal/activate", undefined, token)
  // A reply without an act would pass whatever its fields are.
  const person = { person_id: randomUUID(), name: "Ann", email: "ann@example.com" }
  await http.server.db.transaction(async (tx) => {
    const of = { checkpointId: "1" }
    await insertAct(tx, { kind: "edit", person, threadId: randomUUID(), of, changed: ["paid"] })
    const ann = { ...anyone, seen: { person, mayApprove: true } }
    await recordDeletions(tx, ann, [{ type: "assistant", id: randomUUID(), name: "Support" }])
  })
  const replies = { status: Status, idle: Idle, runs: RunCounts, "pins/r0": Pins, orphans: Orphans, acts: Acts }

  for (const [name, receiver] of Object.entries(replies)) {
    const { text } = await http.send("GET", `/internal/${name}`, undefined, token)
    assert.deepEqual(received(receiver, JSON.parse(text)), { message: JSON.parse(text) }, name)
  }
  const { json } = await http.send("GET", "/internal/status", undefined, token)
  const { cross_origin: rule } = json as { cross_origin: object }
  assert.deepEqual(received(PreflightRule, structuredClone(rule)), { message: rule })
})

/** Deaths of the control plane around the storing of output; tests/src/kubernetes-standby.test.ts has those with pods. */

import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { test } from "node:test"
import type { Units } from "@superstep/machines/port/port"
import { unitSpec } from "@superstep/machines/port/testing/unit-spec"
import { processPlace } from "@superstep/machines/process/testing/place"
import { askStatus } from "@superstep/machines/unit-client/unit-client"
import { connectOptions } from "@superstep/protocol/http/address"
import { Secret, secretsOf } from "@superstep/toolkit/config/settings"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { masterKey, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { migrations } from "../testing/api.js"
import { hideSecretsOf, shipUnitLog } from "./log-shipping.js"
import { pipelineContext } from "./testing/pipeline-context.js"
import { addUnitRow } from "./testing/unit-row.js"

class Killed extends Error {}

const token = new Secret("unit-token")
const points = ["logs:before-store", "logs:after-store"]
const limits = { logQuotaBytes: 1e9 }

test(`a control plane that dies at ${points.join(" or ")} loses no line, and its successor repeats none (R6)`, async () => {
  const place = processPlace()
  await using db = await freshDatabase({ migrations })
  const key = masterKey(randomBytes(32))
  const row = await addUnitRow({ db, key })
  const { unit_id: unitId } = row
  const said = join(temporaryFolder(), "said")
  const spec = unitSpec({
    unitId,
    deploymentId: row.deployment_id,
    revisionId: row.revision_id,
    artifactId: place.artifactId,
    token,
    secrets: secretsOf({ FAKE_SAYS: said }),
  })
  const ship = (units: Units, dieAt?: string) => {
    const crashPoint = (point: string) => {
      if (point === dieAt) throw new Killed()
    }
    return shipUnitLog(pipelineContext({ db, key, machine: { units }, limits, crashPoint }), row)
  }
  const start = async (units: Units) => {
    await units.start(spec)
    await until(() => askStatus({ address: units.address(unitId), token }), { what: "the unit answers" })
  }
  const say = async (units: Units, text: string) => {
    writeFileSync(said, `${text}\n`)
    const headers = { "x-superstep-unit": token.reveal() }
    await new Promise((resolve, reject) =>
      request({ ...connectOptions(units.address(unitId)), path: "/say", headers, agent: false })
        .once("response", (response) => response.resume().once("end", resolve))
        .once("error", reject)
        .end(),
    )
  }

  // Two lives, so that the place is more than a number of lines.
  const first = place.units()
  await start(first)
  await say(first, "one")
  process.kill(place.pidOf(unitId), "SIGKILL")
  await until(async () => (await first.status(unitId)).state === "exited", { what: "its end is known" })
  await ship(first)
  await start(first)
  await say(first, "two")
  await ship(first)
  for (const [n, point] of points.entries()) {
    const units = place.units()
    await say(units, `three ${n}`)
    await assert.rejects(ship(units, point), Killed)
  }
  const last = place.units()
  await say(last, "four")
  await ship(last)
  await last.stop(unitId, { graceMs: 5000 })
  await ship(last)
  await last.remove(unitId)

  const stored = await db.rows<{ message: string }>(sql`select message from log_lines order by log_line_id`)
  assert.deepEqual(fieldsOf(stored, "message"), [
    ...["unit starts", "unit listens", "one"],
    ...["unit starts", "unit listens", "two", "three 0", "three 1", "four", "unit stops"],
  ])
})

test("lines that the database refuses do not block those behind them (G6)", async () => {
  await using db = await freshDatabase({ migrations })
  const key = masterKey(randomBytes(32))
  const row = await addUnitRow({ db, key })
  const pieces: Record<string, string[]> = {
    "": ["ERROR: as plain text", '{"level":"fatal","msg":"printed as a logger does"}'],
    "1": ["before the poison", "poison", "after the poison"],
    "2": ["the next piece"],
  }
  const logs: Units["logs"] = async (_, from) => {
    const lines = pieces[from]
    return lines ? { lines, next: String(Number(from) + 1) } : { lines: [], next: from }
  }
  await db.run(sql`alter table log_lines add constraint refused check (level <> 'CRITICAL' and message <> 'poison')`)

  await shipUnitLog(pipelineContext({ db, key, machine: { units: { logs } }, limits }), row)

  const stored = await db.rows<{ message: string }>(sql`select message from log_lines order by log_line_id`)
  assert.deepEqual(fieldsOf(stored, "message"), [
    "ERROR: as plain text",
    '{"level":"fatal","msg":"printed as a logger does"}',
    "[3 lines were left out: they cannot be stored]",
    "the next piece",
  ])
})

test("the password of a deployment's database, which an image of another builder gets as a variable, is hidden in its log", async () => {
  await using db = await freshDatabase({ migrations })
  const key = masterKey(randomBytes(32))
  const unit = await addUnitRow({ db, key })
  const { deployment_id: id } = unit
  const sealed = seal(key, "pass-of-the-database", contextOf.database(id))
  await db.run(
    sql`update deployments set database_name = 'd', database_password_sealed = ${sealed} where deployment_id = ${id}`,
  )

  const hide = await hideSecretsOf({ db, key, log: silent }, unit)

  assert.equal(
    hide("DATABASE_URI=postgresql://d:pass-of-the-database@db/d"),
    "DATABASE_URI=postgresql://d:[secret]@db/d",
  )
})

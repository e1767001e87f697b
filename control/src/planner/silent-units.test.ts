/** What it costs to follow units that say nothing. */

import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import type { Units } from "@superstep/machines/port/port"
import { processPlace } from "@superstep/machines/process/testing/place"
import type { Database } from "@superstep/toolkit/db/database"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { masterKey } from "../secrets/seal.js"
import { migrations } from "../testing/api.js"
import { pipelineContext } from "./testing/pipeline-context.js"
import { addUnitRow } from "./testing/unit-row.js"
import { followUnitLogs } from "./unit-logs.js"

/** A unit of a process machine, and what follows its output. */
async function setUp() {
  const database = await freshDatabase({ migrations })
  const key = masterKey(randomBytes(32))
  const unit = await addUnitRow({ db: database, key })
  const limits = { logQuotaBytes: 1e6 }
  const contextOf = (db: Database, units: Units) => pipelineContext({ db, key, limits, machine: { units } })
  return {
    database,
    unit,
    contextOf,
    place: processPlace(),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

test("looks at a unit that is silent ask the database nothing, and its next line does", async () => {
  await using it = await setUp()
  const { place, database, unit } = it
  const file = join(place.folders.units, unit.unit_id, "out.log")
  mkdirSync(join(file, ".."))
  writeFileSync(file, "one\n")
  let [questions, looks] = [0, 0]
  const row: Database["row"] = (...asked) => {
    questions += 1
    return database.row(...asked)
  }
  const transaction: Database["transaction"] = (work) => {
    questions += 1
    return database.transaction(work)
  }
  const db: Database = { ...database, row, transaction }
  const own = place.units()
  const look: Units["logs"] = (unitId, from) => {
    looks += 1
    return own.logs(unitId, from)
  }
  const logs = followUnitLogs(it.contextOf(db, { ...own, logs: look }), { lookMs: 10 })
  logs.follow([unit])
  await until(() => questions > 0 && looks > 3, { what: "its first line is taken" })
  const [asked, looked] = [questions, looks]

  await until(() => looks > looked + 5, { what: "it is looked at again and again" })
  const askedMeanwhile = questions - asked
  appendFileSync(file, "two\n")
  await until(() => questions > asked, { what: "its line is taken" })
  await logs.stop()

  assert.equal(askedMeanwhile, 0)
})

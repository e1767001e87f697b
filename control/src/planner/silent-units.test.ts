/** What it costs to follow units that say nothing. */
import assert from "node:assert/strict"
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import type { PipelineContext } from "../context.js"
import { processPlace } from "../machines/process/testing/place.js"
import { migrations } from "../testing/api.js"
import type { UnitRow } from "./facts.js"
import { followUnitLogs } from "./unit-logs.js"

const id = "00000000-0000-4000-8000-000000000002"
const unit = { unit_id: id, revision_id: "00000000-0000-4000-8000-000000000001" } as UnitRow

test("looks at a unit that is silent ask the database nothing, and its next line does", async () => {
  const place = processPlace()
  const folder = place.folders.units
  mkdirSync(join(folder, id))
  writeFileSync(join(folder, id, "out.log"), "one\n")
  await using database = await freshDatabase({ migrations })
  let [questions, looks] = [0, 0]
  const countQuestion: Database["row"] = (...asked) => {
    questions += 1
    return database.row(...asked)
  }
  const db: Database = { ...database, row: countQuestion }
  const own = place.units()
  const logMark = (unitId: string) => {
    looks += 1
    return own.logMark(unitId)
  }
  const machine = { units: { ...own, logMark } }
  const logs = followUnitLogs({ db, machine, log: silent } as unknown as PipelineContext, { lookMs: 10 })
  logs.follow([unit])
  await until(() => questions > 0 && looks > 2, { what: "it was looked at once" })
  const [asked, looked] = [questions, looks]

  await until(() => looks > looked + 5, { what: "it is looked at again and again" })
  const askedMeanwhile = questions - asked
  appendFileSync(join(folder, id, "out.log"), "two\n")
  await until(() => questions > asked, { what: "its line is taken" })
  await logs.stop()

  assert.equal(askedMeanwhile, 0)
})

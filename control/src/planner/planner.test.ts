/** What fails for one deployment ends nothing for another one (L9). */

import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { unixAddress } from "@superstep/protocol/http/address"
import { sql } from "@superstep/toolkit/db/sql"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { socketServer } from "@superstep/toolkit/testing/http-server"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { masterKey } from "../secrets/seal.js"
import { migrations } from "../testing/api.js"
import { startPlanner } from "./planner.js"
import { unitById } from "./queries.js"
import { reportOf } from "./testing/facts.js"
import { pipelineContext } from "./testing/pipeline-context.js"
import { addUnitRow } from "./testing/unit-row.js"

test("a deployment that cannot be planned, or whose unit's report the database refuses, does not stop the planning of another one (L9)", async (t) => {
  await using db = await freshDatabase({ migrations })
  const { socketPath, ...server } = await socketServer((_, response) =>
    response.write(`${JSON.stringify(reportOf())}\n`),
  )
  t.after(server[Symbol.dispose])
  const key = masterKey(randomBytes(32))
  const units = []
  for (let count = 0; count < 4; count++) units.push(await addUnitRow({ db, key }))
  // In the order of passes.
  const [refused, unplanned = "", ...others] = units.map(({ unit_id }) => unit_id)
  await db.run(sql`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`)
  await db.run(sql`create table refused as select ${refused}::uuid as unit_id`)
  await db.run(sql`
    create function is_refused(id uuid) returns boolean language sql as $$ select exists (select from refused where unit_id = id) $$`)
  await db.run(sql`
    create trigger refuse before update on units for each row when (is_refused(new.unit_id)) execute function refuse()`)
  // The plan of a unit that is leaving depends on its traffic.
  await db.run(sql`update units set leaving_since = now() where unit_id = ${unplanned}`)
  const traffic = Object.defineProperty({}, unplanned, {
    get: () => {
      throw new Error("its traffic cannot be read")
    },
  })
  // A minute lasts three seconds.
  const failures = new MemberFailures(silent, () => performance.now() * 20)
  const machine = {
    units: {
      status: async () => ({ state: "running" }),
      address: () => unixAddress(socketPath),
      logs: async (_: string, from: string) => ({ lines: [], next: from }),
      watchLogs: async () => undefined,
      memoryMb: async () => new Map(),
    },
  }
  const limits = { hangMs: 60_000, watchMs: 60_000, drainMs: 60_000, idleMs: 60_000, scaleDownMs: 60_000 }
  const edge = { status: async () => ({ units: traffic }) }
  const planner = startPlanner(pipelineContext({ db, key, failures, machine, edge, limits }))
  t.after(() => planner.stop())
  const isAnswering = async (id = "") => (await unitById(db, id))?.is_answering

  planner.wake()
  for (const id of others) await until(() => isAnswering(id), { what: "another deployment's report is stored" })
  await until(() => failures.problems().length > 1, { what: "the failures are named" })

  assert.equal(await isAnswering(refused), false)
  const named = failures.problems().map((problem) => /^.* fails for/.exec(problem)?.[0])
  assert.deepEqual(named.sort(), ["planning fails for", "storing a report fails for"])
})

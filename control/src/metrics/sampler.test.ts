/** What fails for one deployment keeps no other one from being measured. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import { join } from "node:path"
import { test } from "node:test"
import { unixAddress } from "@superstep/protocol/http/address"
import { sql } from "@superstep/toolkit/db/sql"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import type { PipelineContext } from "../planner/context.js"
import { addUnitRow } from "../planner/testing/unit-row.js"
import { serveWith } from "../revisions/role-queries.js"
import { masterKey } from "../secrets/seal.js"
import { migrations } from "../testing/api.js"
import { startSampler } from "./sampler.js"

test("a deployment whose unit cannot be asked is measured without its runs, and any other as ever", async (t) => {
  await using db = await freshDatabase({ migrations })
  const [key, formerKey] = [masterKey(randomBytes(32)), masterKey(randomBytes(32))]
  const closed = await addUnitRow({ db, key: formerKey })
  const open = await addUnitRow({ db, key })
  for (const { deployment_id: deploymentId, revision_id: revisionId } of [closed, open])
    await serveWith(db, { deploymentId, revisionId })
  await db.run(sql`update units set connections = 1`)
  const socketPath = join(temporaryFolder(), "unit.sock")
  const server = createServer((_, response) => response.end('{"pending":1,"running":2}')).listen(socketPath)
  t.after(() => server.close())
  await once(server, "listening")
  const context = {
    db,
    key,
    log: silent,
    failures: new MemberFailures(silent),
    machine: { units: { usage: async () => new Map(), address: () => unixAddress(socketPath) } },
    edge: { status: async () => ({ deployments: {} }) },
  }

  const sampler = startSampler(context as unknown as PipelineContext, {
    reportOf: () => undefined,
    runTotals: new Map(),
  })
  t.after(() => sampler.stop())
  const samples = await until(
    async () => {
      const rows = await db.rows<{ deployment_id: string }>(
        sql`select deployment_id, replicas, pending_runs, active_runs from traffic_samples`,
      )
      return rows.length > 0 && rows
    },
    { what: "the first sample" },
  )

  const of = ({ deployment_id }: { deployment_id: string }) =>
    samples.find((sample) => sample.deployment_id === deployment_id)
  const unasked = { deployment_id: closed.deployment_id, replicas: 1, pending_runs: null, active_runs: null }
  assert.deepEqual(of(closed), unasked)
  assert.deepEqual(of(open), { ...unasked, deployment_id: open.deployment_id, pending_runs: 1, active_runs: 2 })
})

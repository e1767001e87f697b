import assert from "node:assert/strict"
import { test } from "node:test"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import { executeOnUnit } from "./execute.js"
import type { UnitFacts } from "./facts.js"
import { allUnits } from "./queries.js"
import { pipelineContext } from "./testing/pipeline-context.js"
import { ensureUnits } from "./unit.js"

test("a unit that somebody else has ended has no crash more, and is started again after a pause", async () => {
  await using db = await freshDatabase({ migrations })
  const deploymentId = await addDeployment(db)
  const revision_id = await addRevision(db, deploymentId, { status: "DEPLOYING", stage: "deploy" })
  const units = { logs: async (_: string, from: string) => ({ lines: [], next: from }) }
  const context = pipelineContext({ db, limits: { connections: 100 }, machine: { units } })
  const revision = { revision_id, deployment_id: deploymentId, source_config: {} as never }
  const [unit] = await ensureUnits(context, revision)
  const rowOf = async () => (await allUnits(db)).find(({ unit_id }) => unit_id === unit?.unit_id)

  await executeOnUnit["record disruption"](context, (await rowOf()) as UnitFacts)

  const { crashes, is_down } = (await rowOf()) ?? {}
  assert.deepEqual({ crashes, is_down }, { crashes: 0, is_down: true })
})

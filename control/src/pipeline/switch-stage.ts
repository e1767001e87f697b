/**
 * switch: from one revision's units to the next. First the new ones are made those that execute runs, then the edge sends
 * them the requests: the other way round, a request for a graph that only the new revision has could be executed by an
 * old one. Runs and streams that the old units have go on there.
 */
import { holdClaim } from "../revisions/claims.js"
import { activate } from "../runtimes/unit-client.js"
import { untilAllReady } from "./deploy-stage.js"
import { syncEdge } from "./edge-table.js"
import { serveWith, setActiveRevision } from "./queries.js"
import type { RunStage } from "./stage.js"
import { existingUnits, unitAddress } from "./unit.js"

export const runSwitch: RunStage = async (input) => {
  const { context, revision, signal } = input
  const { db } = context
  context.crashPoint("switch:begin")
  const units = await existingUnits(db, revision.revision_id)
  // Until they serve, nobody but the pipeline looks after them: one may have ended since it was ready.
  const starting = units.filter(({ state }) => state === "starting")
  await untilAllReady(input, starting)
  for (const unit of units) await activate(unitAddress(context, unit), signal)
  context.crashPoint("switch:after-activate")
  await db.transaction(async (tx) => {
    await holdClaim(tx, revision)
    await serveWith(tx, revision.deployment_id, revision.revision_id)
  })
  context.crashPoint("switch:before-push")
  // One that has just died is not waited for.
  await context.edge.ensure()
  await syncEdge(context)
  context.crashPoint("switch:after-push")
  await db.transaction(async (tx) => {
    await holdClaim(tx, revision)
    await setActiveRevision(tx, revision.deployment_id, revision.revision_id)
  })
  context.crashPoint("switch:after-commit")
  return { kind: "next", status: "DEPLOYING", stage: "verify" }
}

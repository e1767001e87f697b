/**
 * What a start of the control plane does about units before it looks after them.
 *
 * A unit that ended while no control plane ran has either crashed, or was killed together with the platform: by a power
 * failure, a reboot, a container that was removed, `kill -9` of everything. The edge tells the two apart, since it is a
 * process of its own and outlives the control plane. When it still runs, only the control plane was gone, and the unit has
 * crashed. So a unit that crashes again and again is still counted as such, however often the control plane restarts
 * meanwhile.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { createWhole } from "@superstep/toolkit/files/whole-file"
import type { Folders } from "../home/folders.js"
import { restoredFromOf } from "../home/home.js"
import type { PipelineContext } from "./context.js"
import { clearBackOff } from "./crash-queries.js"
import type { UnitRow } from "./facts.js"
import { shipUnitLog } from "./log-shipping.js"
import { allUnits, holdUnit } from "./queries.js"
import { renewUnit } from "./unit.js"

type Needed = Omit<PipelineContext, "edge">

/**
 * Lets every unit start without waiting for a back-off. Call it before the edge is started.
 * @param edgeIsAlive  whether the edge of the former control plane still runs
 */
export async function prepareUnits(context: Needed, edgeIsAlive: boolean): Promise<void> {
  await clearBackOff(context.db)
  if (!edgeIsAlive) await markKilledUnitsStopped(context)
}

/**
 * A restored installation has the rows of the original's units, which may run beside it. Processes and containers are found by the ids of units,
 * so its own get others. Call it before `prepareUnits`.
 */
export async function takeRestoredUnits(
  { db, key }: Pick<PipelineContext, "db" | "key">,
  folders: Pick<Folders, "home" | "control">,
): Promise<void> {
  const done = join(folders.control, "renewed-units")
  const restoredFrom = await restoredFromOf(folders)
  if (restoredFrom === undefined || existsSync(done)) return
  await db.transaction(async (tx) => {
    for (const unit of await allUnits(tx)) await renewUnit(tx, key, unit.unit_id)
  })
  await createWhole(done, restoredFrom)
}

/** From now on these count as stopped: they are started again, and requests wait until they are ready. */
async function markKilledUnitsStopped(context: Needed): Promise<void> {
  const { db, machine, log, failures } = context
  const factsOf = ({ unit_id }: UnitRow) => ({ unit_id })
  await failures.forEach("the look at a unit of before", await allUnits(db), factsOf, async (unit) => {
    const status = await machine.units.status(unit.unit_id)
    // One that the kernel ended for its memory had a reason of its own.
    if (status.state !== "exited" || status.ranOutOfMb !== undefined) return
    await shipUnitLog(context, unit)
    await holdUnit(db, unit.unit_id)
    await machine.units.stop(unit.unit_id, { graceMs: 0 })
    log.info({ unit_id: unit.unit_id, revision_id: unit.revision_id }, "unit was killed with the platform")
  })
}

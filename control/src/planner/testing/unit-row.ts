/** A unit for tests that need only its row. */
import type { Database } from "@superstep/toolkit/db/database"
import { addDeployment, addRevision } from "../../revisions/testing/rows.js"
import type { MasterKey } from "../../secrets/seal.js"
import type { UnitRow } from "../facts.js"
import { ensureUnits } from "../unit.js"

export async function addUnitRow({ db, key }: { db: Database; key: MasterKey }): Promise<UnitRow> {
  const deployment_id = await addDeployment(db)
  const revision_id = await addRevision(db, deployment_id, { status: "DEPLOYING", stage: "deploy" })
  const context = { db, key, limits: { connections: 100 } as never }
  const [unit] = await ensureUnits(context, { revision_id, deployment_id, source_config: {} as never })
  if (!unit) throw new Error("no unit was added")
  return unit
}

/** What the collector of acts reads. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface ActingDeployment {
  readonly deployment_id: string
  readonly workspace_id: string
  readonly name: string
  readonly route_name: string
}

export const deploymentOfUnit = (db: Db, unitId: string): Promise<ActingDeployment | undefined> =>
  db.row(sql`
    select d.deployment_id, d.workspace_id, d.name, d.route_name from units u join deployments d using (deployment_id)
    where u.unit_id = ${unitId}`)

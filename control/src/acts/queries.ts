/** What the collector of acts reads. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface ActingDeployment {
  readonly deployment_id: string
  readonly workspace_id: string
  readonly name: string
  readonly route_name: string
  readonly created_at: Date
}

export const deploymentOfUnit = (db: Db, unitId: string): Promise<ActingDeployment | undefined> =>
  db.row(sql`
    select d.deployment_id, d.workspace_id, d.name, d.route_name, d.created_at from units u join deployments d using (deployment_id)
    where u.unit_id = ${unitId}`)

export interface ActingPerson {
  readonly person_id: string
  readonly email: string
  readonly name: string
}

/** Those of the people who are members of the workspace, or were: each has an entry of when they joined. */
export const membersEver = (db: Db, workspaceId: string, ids: readonly string[]): Promise<ActingPerson[]> =>
  db.rows(sql`
    select p.person_id, p.email, p.name from people p where p.person_id = any(${ids}::uuid[])
      and (exists (select from members m where m.workspace_id = ${workspaceId} and m.person_id = p.person_id)
        or exists (select from audit_log a
          where a.workspace_id = ${workspaceId} and a.actor = 'person:' || p.person_id 
            and (a.action = 'accepted invitation' or a.action like 'joined by group %')))`)

/** The table `host_names`; `certificate-queries.ts` has what concerns certificates. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { HostName } from "./host-name.js"

/** Notified when a certificate is to be ordered. */
export const hostNamesChannel = "superstep_host_names"

const columns = sql`host_name, deployment_id, created_at, verified_at, valid_until, next_try_at, failure`

export interface NewHostName {
  readonly hostName: string
  readonly deploymentId: string
  /** Whether the operator vouches for it; otherwise the authority is asked. */
  readonly isVerified: boolean
}

/** @returns  undefined when the name belongs to a deployment already */
export async function insertHostName(
  tx: Db,
  { hostName, deploymentId, isVerified }: NewHostName,
): Promise<HostName | undefined> {
  const row = await tx.row<HostName>(sql`
    insert into host_names (host_name, deployment_id, verified_at, next_try_at)
    values (${hostName}, ${deploymentId}, case when ${isVerified} then now() end, case when not ${isVerified} then now() end)
    on conflict (host_name) do nothing returning ${columns}`)
  if (row && !isVerified) await tx.run(sql`select pg_notify(${hostNamesChannel}, '')`)
  return row
}

export const hostNameOf = (db: Db, deploymentId: string, hostName: string): Promise<HostName | undefined> =>
  db.row(sql`select ${columns} from host_names where deployment_id = ${deploymentId} and host_name = ${hostName}`)

export const hostNamesOf = (db: Db, deploymentId: string): Promise<HostName[]> =>
  db.rows(sql`select ${columns} from host_names where deployment_id = ${deploymentId} order by host_name`)

export const removeHostName = (tx: Db, deploymentId: string, hostName: string): Promise<number> =>
  tx.run(sql`delete from host_names where deployment_id = ${deploymentId} and host_name = ${hostName}`)

/** A deployment that is being deleted has no names any more: others may take them. */
export const removeHostNamesOf = (tx: Db, deploymentId: string): Promise<number> =>
  tx.run(sql`delete from host_names where deployment_id = ${deploymentId}`)

export const countHostNames = async (db: Db, workspaceId: string): Promise<number> => {
  const row = await db.row<{ total: number }>(sql`
    select count(*) as total from host_names join deployments using (deployment_id) where workspace_id = ${workspaceId}`)
  return row?.total ?? 0
}

/** A name that the edge routes. */
export interface RoutedName {
  readonly host_name: string
  readonly deployment_id: string
  readonly certificate_sha256: string | null
}

/** @param deploymentIds  undefined: of all */
export const routedNames = (db: Db, deploymentIds?: readonly string[]): Promise<RoutedName[]> =>
  db.rows(sql`
    select host_name, deployment_id, certificate_sha256 from host_names where verified_at is not null
      ${deploymentIds ? sql`and deployment_id = any(${deploymentIds})` : sql``}
    order by host_name`)

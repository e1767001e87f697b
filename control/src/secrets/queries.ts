/** The table `secrets`: one row for each name in each version of a deployment's secrets. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface SealedSecret {
  readonly name: string
  readonly value_sealed: string
}

export const sealedSecrets = (db: Db, deploymentId: string, version: number): Promise<SealedSecret[]> =>
  db.rows(sql`
    select name, value_sealed from secrets
    where deployment_id = ${deploymentId} and secrets_version = ${version} order by name`)

/** Numbers only grow, also past versions that no revision pinned. */
export const lastSecretsVersion = async (db: Db, deploymentId: string): Promise<number> => {
  const row = await db.row<{ version: number }>(sql`
    select coalesce(max(secrets_version), 0) as version from secrets where deployment_id = ${deploymentId}`)
  return row?.version ?? 0
}

export const insertSecrets = (
  db: Db,
  { deploymentId, version, secrets }: { deploymentId: string; version: number; secrets: readonly SealedSecret[] },
): Promise<number> =>
  db.run(sql`
    insert into secrets (deployment_id, secrets_version, name, value_sealed)
    select ${deploymentId}, ${version}, name, value_sealed
    from unnest(${secrets.map(({ name }) => name)}::text[], ${secrets.map((secret) => secret.value_sealed)}::text[])
      as given (name, value_sealed)`)

export interface RevisionSecrets {
  readonly workspace_id: string
  readonly deployment_id: string
  readonly secrets_version: number
}

/** Whose secrets a revision has, and which version of them. */
export const secretsPinnedBy = (db: Db, revisionId: string): Promise<RevisionSecrets | undefined> =>
  db.row(sql`
    select d.workspace_id, r.deployment_id, r.secrets_version
    from revisions r join deployments d using (deployment_id) where r.revision_id = ${revisionId}`)

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

/** Numbers only rise, also past deleted versions: a revision's number never means other secrets. */
export const lastSecretsVersion = async (db: Db, deploymentId: string): Promise<number> => {
  const row = await db.row<{ version: number }>(sql`
    select greatest(
      (select max(secrets_version) from secrets where deployment_id = ${deploymentId}),
      (select max(secrets_version) from revisions where deployment_id = ${deploymentId}), 0) as version`)
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

/** The deployment and version of a revision's secrets. */
export const secretsPinnedBy = (db: Db, revisionId: string): Promise<RevisionSecrets | undefined> =>
  db.row(sql`
    select d.workspace_id, r.deployment_id, r.secrets_version
    from revisions r join deployments d using (deployment_id) where r.revision_id = ${revisionId}`)

/** Every version but 0 has at least one secret while it is kept. */
export const isKept = async (db: Db, deploymentId: string, version: number): Promise<boolean> =>
  version === 0 || (await sealedSecrets(db, deploymentId, version)).length > 0

/** Deployments with versions that nothing needs. @param keep  see `isUnneeded` */
export const deploymentsWithOldSecrets = (db: Db, keep: number): Promise<{ deployment_id: string }[]> =>
  db.rows(sql`select distinct s.deployment_id from secrets s where ${isUnneeded(keep)}`)

/** Locks the deployment: others that want to pin a version wait for the end of the transaction (D4). */
export const holdDeploymentOf = (tx: Db, deploymentId: string): Promise<number> =>
  tx.run(sql`select from deployments where deployment_id = ${deploymentId} for update`)

export const removeUnneededSecrets = (tx: Db, deploymentId: string, keep: number): Promise<number> =>
  tx.run(sql`delete from secrets s where s.deployment_id = ${deploymentId} and ${isUnneeded(keep)}`)

/**
 * A version is unneeded if it is not that of the next revision, and no revision pins it that runs, is in progress, is the
 * newest, or is among the last that served. Repetitions do not count among these: five rollbacks must not cost the versions
 * before them.
 * @param keep  how many DEPLOYED revisions of a deployment keep theirs, as they keep their artifacts
 */
const isUnneeded = (keep: number) => sql`
    not exists (
      select from deployments d where d.deployment_id = s.deployment_id and d.secrets_version = s.secrets_version
    ) and not exists (
      select from (
        select r.*, d.active_revision_id, d.latest_revision_id,
          row_number() over (partition by r.status, r.repeats_revision_id is null order by r.seq desc) as age
        from revisions r join deployments d using (deployment_id) where r.deployment_id = s.deployment_id
      ) used
      where used.secrets_version = s.secrets_version and (
        used.stage is not null or used.revision_id in (used.active_revision_id, used.latest_revision_id)
        or (used.status = 'DEPLOYED' and used.repeats_revision_id is null and used.age <= ${keep})
        or exists (select from units u where u.revision_id = used.revision_id)))`

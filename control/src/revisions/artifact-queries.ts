/** The table `artifacts`. */
import type { Db } from "@superstep/toolkit/db/database"
import { joinSql, sql } from "@superstep/toolkit/db/sql"
import { namesWhere } from "./field.js"
import type { Commit } from "./revision.js"
import { sourceConfigFields } from "./source-config.js"
import { sourceRevisionConfigFields } from "./source-revision-config.js"

export const addArtifact = (
  db: Db,
  artifact: {
    artifactId: string
    deploymentId: string
    platform: string
    graphs: readonly string[]
    langgraphVersion: string | null
    /** Whether schemas are to be read from its sources. */
    lacksSchemas: boolean
  },
): Promise<number> =>
  db.run(sql`
    insert into artifacts (artifact_id, deployment_id, platform, graphs, langgraph_version, schemas_due_at)
    values (${artifact.artifactId}, ${artifact.deploymentId}, ${artifact.platform},
      ${JSON.stringify(artifact.graphs)}::jsonb, ${artifact.langgraphVersion},
      case when ${artifact.lacksSchemas} then superstep_now() + interval '1 minute' end)
    on conflict (artifact_id) do nothing`)

export const platformOfArtifact = async (db: Db, artifactId: string): Promise<string | undefined> =>
  (await db.row<{ platform: string }>(sql`select platform from artifacts where artifact_id = ${artifactId}`))?.platform

export const artifactExists = async (db: Db, artifactId: string): Promise<boolean> =>
  (await db.row(sql`select 1 from artifacts where artifact_id = ${artifactId}`)) !== undefined

export interface BuiltBefore {
  readonly artifact_id: string
  /** The result of its fetch, which is the same for the same commit. */
  readonly tree_hash: string | null
  readonly commit: Commit | null
}

// A row of an earlier release may lack a field, which means the same as null.
const sameInput = [
  ...namesWhere(sourceConfigFields, ({ revision }) => revision === "built"),
  ...namesWhere(sourceRevisionConfigFields, ({ built }) => built),
].map(
  (name) => sql`(same.source_config || same.source_revision_config) ->> ${name}
        is not distinct from (r.source_config || r.source_revision_config) ->> ${name}`,
)

/** The artifact of an earlier revision that was built from the same commit in the same way. */
export const artifactOfSameInput = (
  db: Db,
  revision: { revision_id: string; sha: string },
  platforms: readonly string[],
): Promise<BuiltBefore | undefined> =>
  db.row(sql`
    select a.artifact_id, same.tree_hash, same.commit
    from revisions r
    join revisions same on same.deployment_id = r.deployment_id and same.commit_sha = ${revision.sha}
      and ${joinSql(sameInput, " and ")}
    join artifacts a on a.artifact_id = same.artifact_id and a.platform = any(${platforms})
    where r.revision_id = ${revision.revision_id}
    order by same.commit is null, same.seq desc limit 1`)

/**
 * Artifacts that nothing needs: no unit or unfinished revision uses them, and they are not among the last good ones.
 * Returns none of a deployment while one of its revisions may still be about to reuse an artifact.
 * @param keep  how many DEPLOYED revisions of a deployment keep theirs
 */
export const unneededArtifacts = (db: Db, keep: number): Promise<{ artifact_id: string; deployment_id: string }[]> =>
  db.rows(sql`select a.artifact_id, a.deployment_id from artifacts a where ${isUnneeded(keep)}`)

const isUnneeded = (keep: number) => sql`
    not exists (
      select 1 from (
        select r.artifact_id, r.revision_id, r.stage, d.active_revision_id,
          row_number() over (partition by r.deployment_id, r.status order by r.seq desc) as age, r.status
        from revisions r join deployments d using (deployment_id) where r.deployment_id = a.deployment_id
      ) used
      where used.artifact_id = a.artifact_id and (
        used.stage is not null or used.revision_id = used.active_revision_id
        or (used.status = 'DEPLOYED' and used.age <= ${keep})
        or exists (select 1 from units u where u.revision_id = used.revision_id))
    ) and not exists (
      select 1 from revisions r where r.deployment_id = a.deployment_id and r.stage in ('queue', 'fetch', 'build')
    ) and a.created_at < superstep_now() - interval '1 hour'`

/** @returns  0 when the artifact is needed again: removing others took time */
export const removeUnneededArtifact = (db: Db, artifactId: string, keep: number): Promise<number> =>
  db.run(sql`delete from artifacts a where a.artifact_id = ${artifactId} and ${isUnneeded(keep)}`)

export const allArtifactIds = async (db: Db): Promise<ReadonlySet<string>> => {
  const rows = await db.rows<{ artifact_id: string }>(sql`select artifact_id from artifacts`)
  return new Set(rows.map(({ artifact_id }) => artifact_id))
}

export const artifactsOf = (db: Db, deploymentId: string): Promise<{ artifact_id: string }[]> =>
  db.rows(sql`select artifact_id from artifacts where deployment_id = ${deploymentId}`)

export interface DueSchemas {
  readonly artifact_id: string
  readonly deployment_id: string
  readonly number: number
  /** The path of `langgraph.json` in the artifact. */
  readonly config_path: string
}

/**
 * An artifact whose schemas are due and whose revision serves; none while a build runs. Postpones it, so that a reading that ends with
 * the platform is not repeated at once.
 */
export const takeDueSchemas = (db: Db): Promise<DueSchemas | undefined> =>
  db.row(sql`
    update artifacts a set schemas_due_at = superstep_now() + interval '10 minutes'
    from (
      select due.artifact_id, d.deployment_id, d.number,
        coalesce(r.source_revision_config ->> 'langgraph_config_path', 'langgraph.json') as config_path
      from artifacts due join revisions r using (artifact_id) join deployments d on d.active_revision_id = r.revision_id
      where due.schemas_due_at <= superstep_now() and r.status = 'DEPLOYED'
        and not exists (select 1 from revisions where stage = 'build' and lease_owner is not null)
      order by due.schemas_due_at limit 1
    ) next
    where a.artifact_id = next.artifact_id
    returning next.*`)

export const endDueSchemas = (db: Db, artifactId: string): Promise<number> =>
  db.run(sql`update artifacts set schemas_due_at = null where artifact_id = ${artifactId}`)

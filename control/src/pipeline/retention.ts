/** Deletes what is no longer needed. */

import { deploymentById } from "../deployments/carried-queries.js"
import { removeOldLines } from "../logs/quota.js"
import type { PipelineContext } from "../planner/context.js"
import { unmeasuredDeployments } from "../quotas/disk-queries.js"
import { allArtifactIds, removeUnneededArtifact, unneededArtifacts } from "../revisions/artifact-queries.js"
import { removeOldSecrets } from "../secrets/operations.js"
import { removeOldArchives } from "../uploads/operations.js"
import { measureDisk } from "./disk-use.js"
import { allDeploymentIds } from "./queries.js"

type RetentionContext = Pick<PipelineContext, "db" | "machine" | "limits" | "log" | "failures" | "crashPoint">

/** What is done each hour, by name. */
const retentionSteps: Readonly<Record<string, (context: RetentionContext) => Promise<unknown>>> = {
  "old artifacts": removeUnneeded,
  "unknown artifacts": removeUnknownArtifacts,
  "unknown caches": removeUnknownCaches,
  "old secrets": (context) => removeOldSecrets(context, context.limits.keptArtifacts),
  "old lines": (context) => removeOldLines(context, context.limits.keptLogDays),
  "old archives": ({ db }) => removeOldArchives(db),
}

/** One step that fails, as when a registry is away, does not hold up the others. Never throws. */
export async function deleteUnneeded(context: RetentionContext): Promise<void> {
  for (const [name, step] of Object.entries(retentionSteps))
    await context.failures.attempt(`the deletion of ${name}`, {}, () => step(context))
}

const factsOf = ({ artifact_id }: { readonly artifact_id: string }) => ({ artifact_id })

async function removeUnneeded(context: RetentionContext): Promise<void> {
  const { db, machine, limits, crashPoint, failures } = context
  const toMeasure = new Set(await unmeasuredDeployments(db))
  const unneeded = await unneededArtifacts(db, limits.keptArtifacts)
  await failures.forEach("the deletion of an artifact", unneeded, factsOf, async ({ artifact_id, deployment_id }) => {
    // The row first: an artifact without a row is never used again, but a row without its artifact might be.
    if ((await removeUnneededArtifact(db, artifact_id, limits.keptArtifacts)) === 0) return
    crashPoint("retention:after-row")
    toMeasure.add(deployment_id)
    await machine.artifacts.remove(artifact_id)
  })
  const factsOfDeployment = (deployment_id: string) => ({ deployment_id })
  await failures.forEach("the measuring of its disk", toMeasure, factsOfDeployment, async (deploymentId) => {
    const deployment = await deploymentById(db, deploymentId)
    if (deployment) await measureDisk(context, deployment)
  })
}

/** Removes artifacts of builds whose revision was ended just as they published. */
export async function removeUnknownArtifacts({
  db,
  machine,
  log,
  failures,
}: Pick<PipelineContext, "db" | "machine" | "log" | "failures">): Promise<void> {
  // Listed before the query: a build that is no longer found has its row by then, or never gets one.
  const present = await machine.artifacts.list()
  const known = await allArtifactIds(db)
  const unknown = present.flatMap((id) => (known.has(id) ? [] : [{ artifact_id: id }]))
  await failures.forEach("the deletion of an artifact", unknown, factsOf, async ({ artifact_id }) => {
    log.warn({ artifact_id }, "removing an artifact that belongs to nothing")
    await machine.artifacts.remove(artifact_id)
  })
}

/** Removes caches of deleted deployments: a build that started at that moment has created its cache again. */
export async function removeUnknownCaches({
  db,
  machine,
  failures,
}: Pick<PipelineContext, "db" | "machine" | "failures">): Promise<void> {
  // Listed before the query: a deployment that is added in between is then not in the list.
  const present = await machine.artifacts.caches()
  const known = await allDeploymentIds(db)
  const unknown = present.filter((id) => !known.has(id))
  const factsOfCache = (deployment_id: string) => ({ deployment_id })
  await failures.forEach("the deletion of a cache", unknown, factsOfCache, (id) => machine.artifacts.removeCache(id))
}

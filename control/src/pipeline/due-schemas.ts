/**
 * Schemas that only the sources of an artifact contain are read some time after its deployment, one artifact at a time and only while no
 * build runs, so that no deployer waits for a compiler. Until they are stored, agent servers read them on request. Each step may be
 * repeated: the row stays due until they are stored.
 */
import type { PipelineContext } from "../planner/context.js"
import { endDueSchemas, takeDueSchemas } from "../revisions/artifact-queries.js"

type Context = Pick<PipelineContext, "db" | "log" | "machine" | "crashPoint">

/** Reads those of one artifact, if any are due. @param signal  stops the reading, which is then due again later */
export async function readDueSchemas({ db, log, machine, crashPoint }: Context, signal: AbortSignal): Promise<void> {
  const due = await takeDueSchemas(db)
  if (!due) return
  crashPoint("schemas:after-take")
  const facts = { artifact_id: due.artifact_id, deployment_id: due.deployment_id }
  const source = { artifactId: due.artifact_id, deploymentNumber: due.number, configPath: due.config_path }
  const begun = performance.now()
  try {
    await machine.artifacts.readSchemas(source, signal)
    log.info(
      { ...facts, duration_ms: Math.round(performance.now() - begun) },
      "schemas read from the sources and stored",
    )
  } catch (err) {
    if (signal.aborted) return
    log.warn({ ...facts, err }, "schemas could not be read from the sources: agent servers will read them on request")
  }
  crashPoint("schemas:after-file")
  await endDueSchemas(db, due.artifact_id)
}

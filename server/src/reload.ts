/** Development: what follows a change of the project's sources, beside the graphs themselves. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { insertSystemAssistants } from "./assistants/queries.js"
import type { Config } from "./config.js"
import { toGateProject } from "./gate/gate-project.js"
import type { Assembly, Parts } from "./parts.js"
import { startHotReload } from "./project/hot-reload.js"
import { nameableEnv, type Project, toWorkerProject } from "./project/langgraph-config.js"
import { defaultsOf, uiProject } from "./project-settings.js"
import type { GraphFailure } from "./workers/port.js"

/** The auth module, the app, the components and the assistants of new graphs follow each reload. */
export function reloadOnChange({ config, db, log, env, project }: Assembly, { workers, gate, ui, sources }: Parts) {
  const onReload = async (changed: Project) => {
    sources.reload(toWorkerProject(changed))
    ui.build(uiProject(changed, config, env))
    tellRefused(await gate.replace(toGateProject(changed, config.agentEnv)), config, log)
    try {
      await insertSystemAssistants(db, workers.report().graphs, defaultsOf(changed, config))
    } catch (err) {
      // The graphs serve all the same.
      log.warn({ err }, "the assistants of the graphs could not be brought up to date")
    }
  }
  const serverEnv = nameableEnv(config, env)
  return startHotReload({ project, workers, serverEnv, agentEnv: config.agentEnv, log, onReload })
}

/**
 * A project whose auth module or app does not load answers every request with an error, so alone it is of no use: a
 * developer mends it, and a unit's supervisor asks for the reason.
 */
export function tellRefused(refused: readonly GraphFailure[], { isDev, revisionId }: Config, log: Log): void {
  for (const { graphId, message } of refused)
    log.error({ part: graphId, detail: message }, "project code failed to load")
  if (refused.length === 0 || isDev || revisionId !== undefined) return
  throw new InvalidInput(
    refused.map(({ graphId, message }) => ({ path: ["langgraph.json", graphId], message, type: "value_error" })),
  )
}

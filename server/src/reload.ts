/** Development: updates the other parts of the server after a change of the project's sources. */
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

/** Reloads the auth module, the app, the UI components and the assistants after each reload of the graphs. */
export function reloadOnChange({ config, db, log, env, project }: Assembly, { workers, gate, ui, sources }: Parts) {
  const onReload = async (changed: Project) => {
    sources.reload(toWorkerProject(changed))
    ui.build(uiProject(changed, config, env))
    reportRefused(await gate.replace(toGateProject(changed, config.agentEnv)), config, log)
    try {
      await insertSystemAssistants(db, workers.report().graphs, defaultsOf(changed, config))
    } catch (err) {
      // The graphs still serve.
      log.warn({ err }, "the graphs' assistants could not be updated")
    }
  }
  const serverEnv = nameableEnv(config, env)
  return startHotReload({ project, workers, serverEnv, agentEnv: config.agentEnv, log, onReload })
}

/**
 * Logs project code that failed to load. With a broken auth module or app, every request fails. A standalone server
 * therefore does not start. A development server does, and a unit does so that its supervisor can read the reason.
 */
export function reportRefused(refused: readonly GraphFailure[], { isDev, revisionId }: Config, log: Log): void {
  for (const { graphId, message } of refused)
    log.error({ part: graphId, detail: message }, "project code failed to load")
  if (refused.length === 0 || isDev || revisionId !== undefined) return
  throw new InvalidInput(
    refused.map(({ graphId, message }) => ({ path: ["langgraph.json", graphId], message, type: "value_error" })),
  )
}

/** Development: updates the other parts of the server after a change of the project's sources. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { insertSystemAssistants } from "./assistants/queries.js"
import type { Config } from "./config.js"
import { toGateProject } from "./gate/gate-project.js"
import type { Assembly, Parts } from "./parts.js"
import { startHotReload } from "./project/hot-reload.js"
import { nameableEnv, type Project, toWorkerProject } from "./project/langgraph-config.js"
import { logLoadProblems } from "./project/log-load-problems.js"
import { defaultsOf, uiProject } from "./project-settings.js"
import { type GraphFailure, type LoadReport, withSource } from "./workers/port.js"

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
export function reportRefused(refused: readonly GraphFailure[], config: Config, log: Log): void {
  for (const failure of refused)
    log.error({ part: failure.graphId, detail: withSource(failure) }, "project code failed to load")
  if (refused.length > 0 && isStandalone(config)) throw doNotLoad(refused)
}

/**
 * Logs graphs that failed to load. Without any graph a standalone server can do nothing and does not start, so that its supervisor
 * notices (decisions, agent server 19).
 */
export function reportFailed({ graphs, failed }: LoadReport, config: Config, log: Log): void {
  logLoadProblems(log, failed, "graph failed to load")
  if (graphs.length === 0 && failed.length > 0 && isStandalone(config)) throw doNotLoad(failed)
}

const isStandalone = ({ isDev, revisionId }: Config): boolean => !isDev && revisionId === undefined

const doNotLoad = (failed: readonly GraphFailure[]) =>
  new InvalidInput(
    failed.map((failure) => ({
      path: ["langgraph.json", failure.graphId],
      message: withSource(failure),
      type: "value_error",
    })),
  )

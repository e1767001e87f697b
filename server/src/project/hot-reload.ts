/** Development: when a source file changes, the project is loaded again beside the version that serves (workers/README, G1). */
import type { Log } from "@superstep/toolkit/log/log"
import type { WorkerPool } from "../workers/pool.js"
import { type Project, readProject, toWorkerProject } from "./langgraph-config.js"
import { logLoadProblems } from "./log-load-problems.js"
import { type SourceWatch, watchSources } from "./source-watch.js"

export interface HotReloadOptions {
  readonly project: Project
  readonly workers: Pick<WorkerPool, "replaceWorkers">
  /** See `readProject`. */
  readonly serverEnv: NodeJS.ProcessEnv
  /** The agent's own environment, which overrides the project's. */
  readonly agentEnv: Readonly<Record<string, string>>
  readonly log: Log
  /** Called after each reload, to update the graphs' assistants. */
  onReload?(project: Project): void | Promise<void>
}

/** Watches until closed. A failed reload changes nothing: the previous version keeps serving, and the log has the error. */
export function startHotReload(options: HotReloadOptions): Promise<SourceWatch> {
  const { project, log } = options
  let isReloading = false
  let isStale = false

  const reload = async (path: string): Promise<void> => {
    isStale = isReloading
    if (isReloading) return
    isReloading = true
    log.info({ file: path }, "sources changed: reloading the graphs")
    await loadAgain(options).catch((err: unknown) =>
      log.warn({ err }, "the reload failed: the previous version keeps serving"),
    )
    isReloading = false
    // One more reload covers all changes that were made during this one.
    if (isStale) await reload(path)
  }
  return watchSources(project.folder, (path) => void reload(path), { log })
}

/** The HTTP settings that the server reads only at startup. `app` is not one: it is reloaded like a graph. */
const httpOf = ({ http: { app: _, ...rest } }: Project): string => JSON.stringify(rest)

async function loadAgain(options: HotReloadOptions): Promise<void> {
  const { project, workers, agentEnv, serverEnv, log, onReload } = options
  const changed = await readProject(project.configPath, serverEnv)
  for (const warning of changed.warnings) log.warn({ warning }, "langgraph.json")
  if (httpOf(changed) !== httpOf(project))
    log.warn("http of langgraph.json has changed: restart the server to apply it")
  const { env, ...sources } = toWorkerProject(changed)
  const { graphs, failed } = await workers.replaceWorkers({ ...sources, env: { ...env, ...agentEnv } })
  logLoadProblems(log, failed, "graph failed to load; its previous version keeps serving")
  if (graphs.length > 0) log.info({ graphs }, "new runs use the changed sources")
  await onReload?.(changed)
}

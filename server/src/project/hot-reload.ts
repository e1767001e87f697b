/** Development: when a source changes, the project is read again and loaded beside what serves (workers/README, G1). */
import type { Log } from "@superstep/toolkit/log/log"
import type { WorkerPool } from "../workers/pool.js"
import { type Project, readProject, toWorkerProject } from "./langgraph-config.js"
import { type SourceWatch, watchSources } from "./source-watch.js"

export interface HotReloadOptions {
  readonly project: Project
  readonly workers: Pick<WorkerPool, "replaceWorkers">
  /** As for `readProject`. */
  readonly serverEnv: NodeJS.ProcessEnv
  /** The agent's own environment, which goes over the project's. */
  readonly agentEnv: Readonly<Record<string, string>>
  readonly log: Log
  /** Called after each reload, so that the graphs' assistants can follow. */
  onReload?(project: Project): void | Promise<void>
}

/** Watches until it is closed. A reload that fails changes nothing: what served goes on, and the log says why. */
export function startHotReload(options: HotReloadOptions): Promise<SourceWatch> {
  const { project, log } = options
  let isReloading = false
  let isStale = false

  const reload = async (path: string): Promise<void> => {
    isStale = isReloading
    if (isReloading) return
    isReloading = true
    log.info({ file: path }, "sources changed: loading them beside what serves")
    await loadAgain(options).catch((err: unknown) => log.warn({ err }, "the reload failed: what served before goes on"))
    isReloading = false
    // However many changes came meanwhile, one more load sees them all.
    if (isStale) await reload(path)
  }
  return watchSources(project.folder, (path) => void reload(path), { log })
}

/** What the server answers by, and reads once; its `app` is loaded again like a graph. */
const httpOf = ({ http: { app: _, ...rest } }: Project): string => JSON.stringify(rest)

async function loadAgain(options: HotReloadOptions): Promise<void> {
  const { project, workers, agentEnv, serverEnv, log, onReload } = options
  const changed = await readProject(project.configPath, serverEnv)
  for (const warning of changed.warnings) log.warn({ warning }, "langgraph.json")
  if (httpOf(changed) !== httpOf(project)) log.warn("http of langgraph.json has changed: restart to have it followed")
  const { env, ...sources } = toWorkerProject(changed)
  const { graphs, failed } = await workers.replaceWorkers({ ...sources, env: { ...env, ...agentEnv } })
  for (const { graphId, message } of failed) {
    log.error({ graph_id: graphId, detail: message }, "graph failed to load; what served it before goes on")
  }
  if (graphs.length > 0) log.info({ graphs }, "new runs use the changed sources")
  await onReload?.(changed)
}

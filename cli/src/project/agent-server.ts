/** How the agent server is started for a project folder (protocol/unit names the variables). */
import { fileURLToPath } from "node:url"
import type { Config } from "../config.js"
import type { Project } from "./project.js"

export interface AgentServerOptions {
  readonly host: string
  readonly port: number
  readonly isDev: boolean
  readonly reload: boolean
}

export const serverScript = (): string => fileURLToPath(import.meta.resolve("@superstep/server/main"))

/** Variables of ours; the project's code has no use for them, and must not see the database's password. */
const ours = /^(SUPERSTEP_|DATABASE_URI$|npm_)/

/** The shell's variables are the project's environment, as under any dev server: that is where keys of models are. */
function agentEnvironment(environment: Config["environment"]): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !ours.test(name)))
}

// Ctrl-C during development hands runs back at once: the next start goes on with them.
const devDefaults = { BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "0" }

export interface ServerPlace {
  readonly databaseUri: string
  /** That of the data folder; the environment's own goes before it. */
  readonly serverId: string
  readonly environment: Config["environment"]
}

export function serverEnvironment(
  project: Project,
  { host, port, isDev, reload }: AgentServerOptions,
  { databaseUri, serverId, environment }: ServerPlace,
): Record<string, string> {
  return {
    ...(isDev ? devDefaults : {}),
    SUPERSTEP_SERVER_ID: serverId,
    ...environment,
    SUPERSTEP_AGENT_ENV: JSON.stringify(agentEnvironment(environment)),
    SUPERSTEP_CONFIG: project.configPath,
    DATABASE_URI: databaseUri,
    SUPERSTEP_LISTEN: `${host}:${port}`,
    SUPERSTEP_DEV: isDev ? "1" : "0",
    SUPERSTEP_RELOAD: reload ? "1" : "0",
  }
}

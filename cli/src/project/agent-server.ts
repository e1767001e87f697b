/** How to start the agent server for a project folder (protocol/unit defines the variables). */
import { fileURLToPath } from "node:url"
import type { Config } from "../command-line/config.js"
import type { Project } from "./project.js"

export interface AgentServerOptions {
  readonly host: string
  readonly port: number
  readonly isDev: boolean
  readonly reload: boolean
}

export const serverScript = (): string => fileURLToPath(import.meta.resolve("@superstep/server/main"))

/** Our own variables; the project's code does not need them, and must not see the database's password. */
const ours = /^(SUPERSTEP_|DATABASE_URI$|npm_)/

/** The shell's variables are the project's environment, as with any dev server: they contain the keys of models. */
export function agentEnvironment(environment: Config["environment"]): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !ours.test(name)))
}

// Ctrl-C during development hands runs back at once: the next start resumes them.
const devDefaults = { BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "0" }

export interface ServerPlace {
  readonly databaseUri: string
  /** The data folder's id; the environment's own takes precedence. */
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

/** Derives the settings of each part of the server from the project and the server's settings. */
import { graphDefaults } from "./assistants/graph-defaults.js"
import type { Config } from "./config.js"
import { nameableEnv, type Project, toWorkerProject } from "./project/langgraph-config.js"
import { webhookSettings } from "./webhooks/settings.js"
import { projectEnv } from "./workers/worker-env.js"

/** The platform's environment for an agent overrides the project's. */
export function projectWithEnv(project: Project, { agentEnv }: Config) {
  const { env, ...rest } = toWorkerProject(project)
  return { ...rest, env: { ...env, ...agentEnv } }
}

/** Config and context of the graphs' system assistants. */
export const defaultsOf = (project: Project, config: Config) =>
  graphDefaults(project.graphs, projectWithEnv(project, config).env.LANGGRAPH_CONFIG ?? config.langgraphConfig)

/** @throws InvalidInput  a header uses a variable that is not set. Checked at the start, so that not every call fails */
export const webhooksOf = ({ webhooks, http, env }: Project, config: Config, serverEnv: NodeJS.ProcessEnv) =>
  webhookSettings({
    webhooks,
    http,
    env: { ...nameableEnv(config, serverEnv), ...env, ...config.agentEnv },
    isDev: config.isDev,
    privateNetworks: config.webhookPrivateNetworks,
    signingSecret: config.webhookSigningSecret,
  })

/** The UI components to bundle, with the environment of the graphs' code. */
export const uiProject = (
  { folder, ui, uiConfig, env: own }: Project,
  { agentEnv }: Config,
  env: NodeJS.ProcessEnv,
) => ({
  folder,
  ui,
  shared: uiConfig.shared ?? [],
  env: projectEnv(env, { ...own, ...agentEnv }),
})

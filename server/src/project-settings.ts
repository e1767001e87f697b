/** What each part of the server takes from the project that it serves, under the settings of this process. */
import { graphDefaults } from "./assistants/graph-defaults.js"
import type { Config } from "./config.js"
import { nameableEnv, type Project, toWorkerProject } from "./project/langgraph-config.js"
import { webhookSettings } from "./webhooks/settings.js"
import { projectEnv } from "./workers/worker-env.js"

/** What the platform sets for an agent wins over what its project sets. */
export function projectWithEnv(project: Project, { agentEnv }: Config) {
  const { env, ...rest } = toWorkerProject(project)
  return { ...rest, env: { ...env, ...agentEnv } }
}

/** What the graphs' own assistants begin with. */
export const defaultsOf = (project: Project, config: Config) =>
  graphDefaults(project.graphs, projectWithEnv(project, config).env.LANGGRAPH_CONFIG ?? config.langgraphConfig)

/** @throws InvalidInput  a header names a variable that is not set: better at the start than at every call */
export const webhooksOf = ({ webhooks, http, env }: Project, config: Config, serverEnv: NodeJS.ProcessEnv) =>
  webhookSettings({
    webhooks,
    http,
    env: { ...nameableEnv(config, serverEnv), ...env, ...config.agentEnv },
    isDev: config.isDev,
    privateNetworks: config.webhookPrivateNetworks,
    signingSecret: config.webhookSigningSecret,
  })

/** What is bundled for browsers, in the environment that the graphs' code has. */
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

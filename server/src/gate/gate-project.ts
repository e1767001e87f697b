/** What of a project is the gate's. Pure. */
import type { Project } from "../project/langgraph-config.js"
import type { GateProject } from "./gate.js"

/** @param agentEnv  what the platform sets for an agent, which wins over what its project sets */
export const toGateProject = (
  { folder, env, auth, http }: Project,
  agentEnv: Readonly<Record<string, string>>,
): GateProject => ({
  folder,
  env: { ...env, ...agentEnv },
  auth: auth.path,
  app: http.app,
  cache: auth.cache,
  disableStudioAuth: auth.disable_studio_auth === true,
  authFirst:
    auth.path !== undefined && (http.middleware_order === "auth_first" || http.enable_custom_route_auth === true),
})

/** The part of a project that the gate needs. Pure. */
import type { Project } from "../project/langgraph-config.js"
import type { GateProject } from "./gate.js"

/** @param agentEnv  variables that the platform sets for an agent; they override those of its project */
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

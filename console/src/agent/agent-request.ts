/** A request to an agent, for "copy as curl". */
import type { ApiRequest } from "../requests/curl.js"
import type { Agent } from "./use-agent.js"

export const agentRequest = (
  agent: Pick<Agent, "url" | "deploymentId">,
  method: string,
  path: string,
  body?: unknown,
): ApiRequest => ({
  method,
  url: agent.url + path,
  hasKey: agent.deploymentId !== undefined,
  ...(body !== undefined && { body }),
})

/** Agents of several deployments, for pages that look at many: each gets its token once, and renews it by itself. */
import type { PlatformApi } from "../platform/api.js"
import { type AgentToken, keepToken, readAgentToken } from "./agent-token.js"
import { type Agent, deployedAgent } from "./use-agent.js"

interface OpenOptions {
  readonly api: PlatformApi
  readonly deploymentId: string
  /** A token that was just read. */
  readonly first: AgentToken
  /** A later token allows something else: the agent still says what the first one allowed. */
  readonly onOtherScopes?: (token: AgentToken) => void
}

export const agentOfToken = ({ api, deploymentId, first, onOtherScopes }: OpenOptions): Agent =>
  deployedAgent(
    deploymentId,
    first,
    keepToken(first, () => readAgentToken(api, deploymentId), { onOtherScopes }),
  )

/** @returns  a function that returns the same agent for the same deployment; a token that could not be read is read again */
export function deployedAgents(api: PlatformApi): (deploymentId: string) => Promise<Agent> {
  const agents = new Map<string, Promise<Agent>>()
  return (deploymentId) => {
    const known = agents.get(deploymentId)
    if (known) return known
    const opened = readAgentToken(api, deploymentId).then((first) => agentOfToken({ api, deploymentId, first }))
    agents.set(deploymentId, opened)
    opened.catch(() => agents.delete(deploymentId))
    return opened
  }
}

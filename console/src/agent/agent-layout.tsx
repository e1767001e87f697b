/** Gives the pages below it the agent that they are about. */
import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { Outlet, useParams } from "@tanstack/react-router"
import { type ReactNode, useMemo } from "react"
import { usePlatform } from "../platform/use-platform.js"
import { type AgentToken, readAgentToken } from "./agent-token.js"
import { agentOfToken } from "./deployed-agents.js"
import { AgentContext, ownAgent } from "./use-agent.js"

export function DeployedAgentLayout() {
  const { deploymentId = "" } = useParams({ strict: false })
  return (
    <DeployedAgent key={deploymentId} deploymentId={deploymentId}>
      <Outlet />
    </DeployedAgent>
  )
}

/** Pages that look at several agents, such as all approvals, use it once for each. */
export function DeployedAgent({ deploymentId, children }: { deploymentId: string; children: ReactNode }) {
  const { api } = usePlatform()
  const queries = useQueryClient()
  const queryKey = useMemo(() => ["agent-token", deploymentId], [deploymentId])
  // A token of an earlier visit may have ended: it is read again whenever this is shown. Not when a person comes back to the
  // tab: the agent renews its token by itself, and another first token would be another agent, whose streams all begin anew.
  const { data: first } = useSuspenseQuery({
    queryKey,
    queryFn: () => readAgentToken(api, deploymentId),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
  const agent = useMemo(() => {
    const onOtherScopes = (token: AgentToken) => queries.setQueryData(queryKey, token)
    return agentOfToken({ api, deploymentId, first, onOtherScopes })
  }, [api, deploymentId, first, queries, queryKey])
  return <AgentContext.Provider value={agent}>{children}</AgentContext.Provider>
}

const own = ownAgent(location.origin)

export function OwnAgentLayout() {
  return (
    <AgentContext.Provider value={own}>
      <Outlet />
    </AgentContext.Provider>
  )
}

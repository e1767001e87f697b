/** What the overview asks the agent itself: how many threads wait for a person, and which graphs it has. A part of its own, since it needs the official client. */
import { useQuery } from "@tanstack/react-query"
import { CatchBoundary, Link } from "@tanstack/react-router"
import { type ReactNode, Suspense } from "react"
import { DeployedAgent } from "../agent/agent-layout.js"
import { useAgent } from "../agent/use-agent.js"
import { useAssistants } from "../assistants/agent-graph.js"
import { CallIt, CallWaits } from "./call-it.js"

interface Props {
  readonly deploymentId: string
  readonly url: string
}

export const WaitingThreads = ({ deploymentId }: { deploymentId: string }) => (
  <OfAgent deploymentId={deploymentId} otherwise={<span className="faint">not known</span>}>
    <Waiting />
  </OfAgent>
)

function Waiting() {
  const { client, url, base } = useAgent()
  // Once, and when a person comes back to the page: each question is a request that keeps the agent awake.
  const { data, error } = useQuery({
    queryKey: ["interrupted-threads", url],
    queryFn: () => client.threads.count({ status: "interrupted" }),
    refetchOnWindowFocus: true,
  })
  if (error) return <span className="faint">the agent refuses to say</span>
  if (data === undefined) return <span className="faint">–</span>
  if (data === 0) return <>nothing</>
  return <Link to={`${base}/approvals`}>{data === 1 ? "1 thread" : `${data} threads`}</Link>
}

/** Without the agent's answer the example names no graph of its own. */
export const CallAgent = ({ deploymentId, url }: Props) => (
  <OfAgent deploymentId={deploymentId} otherwise={<CallIt url={url} graph="agent" />}>
    <CallFirstGraph url={url} />
  </OfAgent>
)

function CallFirstGraph({ url }: { url: string }) {
  const { assistants, isPending } = useAssistants()
  return isPending ? <CallWaits /> : <CallIt url={url} graph={assistants[0]?.graph_id ?? "agent"} />
}

const OfAgent = ({
  deploymentId,
  otherwise,
  children,
}: {
  deploymentId: string
  otherwise: ReactNode
  children: ReactNode
}) => (
  <CatchBoundary getResetKey={() => deploymentId} errorComponent={() => otherwise}>
    <Suspense fallback={null}>
      <DeployedAgent deploymentId={deploymentId}>{children}</DeployedAgent>
    </Suspense>
  </CatchBoundary>
)

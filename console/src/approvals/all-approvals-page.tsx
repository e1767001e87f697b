/** The waiting interrupts of all agents on the platform, one section for each agent. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { CatchBoundary, Link } from "@tanstack/react-router"
import { Suspense } from "react"
import { DeployedAgent } from "../agent/agent-layout.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty, Loading } from "../frame/empty.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { pagePath, paths } from "../platform/paths.js"
import { deploymentsQuery } from "../platform/queries.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { Approvals } from "./approvals.js"

export function AllApprovalsPage() {
  const platform = usePlatform()
  const { workspaceId } = platform
  const { data } = useSuspenseQuery(deploymentsQuery(platform))
  const agents = data.resources.filter(({ status }) => status === "READY")
  const awake = agents.filter(isAwake).length
  return (
    <Page
      title="Approvals"
      actions={<CurlButton requests={[{ method: "GET", url: pagePath(paths.deployments), workspaceId }]} />}
    >
      {agents.length === 0 && (
        <Empty
          title="No agent is deployed yet"
          action={
            <Link to="/" className="text-link">
              Go to the deployments
            </Link>
          }
        >
          Questions of all deployed agents appear here.
        </Empty>
      )}
      {agents.map((deployment) => (
        <section key={deployment.id} className="approvals-agent">
          <h2>
            <Link to={`/deployments/${deployment.id}/agent/approvals`}>{deployment.name}</Link>
          </h2>
          <AgentApprovals deployment={deployment} among={awake} />
        </section>
      ))}
    </Page>
  )
}

const isAwake = ({ run_state: state }: Deployment): boolean => state !== "asleep" && state !== "paused"

interface AgentApprovalsProps {
  readonly deployment: Deployment
  /** How many agents are asked. */
  readonly among: number
}

function AgentApprovals({ deployment: { id, name, run_state: state }, among }: AgentApprovalsProps) {
  // A request would wake it, and this page sends some all the time.
  if (state === "asleep") return <p className="soft">It sleeps, so it is not asked. Open its own page to wake it.</p>
  if (state === "paused") return <p className="soft">It is paused: resume it to see its questions.</p>
  return (
    <CatchBoundary getResetKey={() => id} errorComponent={({ error }) => <Problem error={error} />}>
      <Suspense fallback={<Loading what={`Loading the questions of ${name}`} />}>
        <DeployedAgent deploymentId={id}>
          <Approvals among={among} />
        </DeployedAgent>
      </Suspense>
    </CatchBoundary>
  )
}

/** The waiting interrupts of all agents on the platform, one section for each agent. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { CatchBoundary, Link } from "@tanstack/react-router"
import { Suspense } from "react"
import { DeployedAgent } from "../agent/agent-layout.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty, Loading } from "../frame/empty.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { usePlatform } from "../platform/use-platform.js"
import { Approvals } from "./approvals.js"

interface Deployments {
  readonly resources: readonly { readonly id: string; readonly name: string; readonly status: string }[]
}

const path = "/v2/deployments?limit=100"

export function AllApprovalsPage() {
  const { call, workspaceId } = usePlatform()
  const { data } = useSuspenseQuery({
    queryKey: ["deployments", workspaceId, "approvals"],
    queryFn: ({ signal }) => call<Deployments>(path, { signal }),
  })
  const agents = data.resources.filter(({ status }) => status === "READY")
  return (
    <Page title="Approvals" actions={<CurlButton requests={[{ method: "GET", url: path, workspaceId }]} />}>
      {agents.length === 0 && <Empty title="No agent runs">Questions of all deployed agents appear here.</Empty>}
      {agents.map(({ id, name }) => (
        <section key={id} className="approvals-agent">
          <h2>
            <Link to={`/deployments/${id}/agent/approvals`}>{name}</Link>
          </h2>
          <CatchBoundary getResetKey={() => id} errorComponent={({ error }) => <Problem error={error} />}>
            <Suspense fallback={<Loading what={`Loading the questions of ${name}`} />}>
              <DeployedAgent deploymentId={id}>
                <Approvals isOneOfMany />
              </DeployedAgent>
            </Suspense>
          </CatchBoundary>
        </section>
      ))}
    </Page>
  )
}

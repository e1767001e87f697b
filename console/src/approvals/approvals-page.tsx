/** Every waiting interrupt of an agent: one is answered in its form, many are approved or rejected at once. */
import { agentRequest } from "../agent/agent-request.js"
import { useAgent } from "../agent/use-agent.js"
import { CurlButton } from "../frame/curl-button.js"
import { Page } from "../frame/page.js"
import { Approvals } from "./approvals.js"
import { interruptedSearch } from "./read-interrupted.js"

export function ApprovalsPage() {
  const agent = useAgent()
  return (
    <Page
      title="Approvals"
      actions={<CurlButton requests={[agentRequest(agent, "POST", "/threads/search", interruptedSearch)]} />}
    >
      <Approvals />
    </Page>
  )
}

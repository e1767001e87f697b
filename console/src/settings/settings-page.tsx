/** The settings of the workspace: its keys, its git integrations, its quotas, and who changed what. */
import { CurlButton } from "../frame/curl-button.js"
import { Page } from "../frame/page.js"
import { Section } from "../frame/section.js"
import { usePlatform } from "../platform/use-platform.js"
import { AuditLog } from "./audit-log.js"
import { Integrations } from "./integrations.js"
import { Keys } from "./keys.js"

export function SettingsPage() {
  const { session, workspaceId } = usePlatform()
  const isAdmin = session.scopes.includes("admin")
  const requests = [
    { method: "GET", url: "/v2/api-keys?limit=100", workspaceId },
    { method: "GET", url: "/v2/audit-log?limit=50", workspaceId },
    { method: "GET", url: "/v2/integrations/git", workspaceId },
  ]
  return (
    <Page title="Settings" actions={<CurlButton requests={isAdmin ? requests : requests.slice(2)} />}>
      {isAdmin ? <Keys /> : <NeedsAdmin title="API keys" />}
      <Integrations isAdmin={isAdmin} />
      {isAdmin ? <AuditLog /> : <NeedsAdmin title="Audit log" />}
    </Page>
  )
}

function NeedsAdmin({ title }: { title: string }) {
  return (
    <Section title={title}>
      <p className="soft">Reading this needs a key with the scope admin. Sign in with one to see it.</p>
    </Section>
  )
}

/** The settings of the workspace: its people, their sessions, its keys, its git integrations, its quotas, and who changed what. */
import { CurlButton } from "../frame/curl-button.js"
import { Page } from "../frame/page.js"
import { Section } from "../frame/section.js"
import { pagePath, paths } from "../platform/paths.js"
import { usePlatform } from "../platform/use-platform.js"
import { AuditLog } from "./audit-log.js"
import { Integrations } from "./integrations.js"
import { Keys } from "./keys.js"
import { People } from "./people.js"
import { Sessions } from "./sessions.js"

export function SettingsPage() {
  const { scopes, workspaceId } = usePlatform()
  const isAdmin = scopes.includes("admin")
  const forAll = [
    { method: "GET", url: pagePath(paths.members), workspaceId },
    { method: "GET", url: pagePath(paths.sessions), workspaceId },
    { method: "GET", url: pagePath(paths.integrations), workspaceId },
  ]
  const forAdmins = [
    { method: "GET", url: pagePath(paths.invitations), workspaceId },
    { method: "GET", url: pagePath(paths.keys), workspaceId },
    { method: "GET", url: "/v2/audit-log?limit=50", workspaceId },
  ]
  return (
    <Page title="Settings" actions={<CurlButton requests={isAdmin ? [...forAll, ...forAdmins] : forAll} />}>
      <People isAdmin={isAdmin} />
      <Sessions />
      {isAdmin ? <Keys /> : <NeedsAdmin title="API keys" />}
      <Integrations isAdmin={isAdmin} />
      {isAdmin ? <AuditLog /> : <NeedsAdmin title="Audit log" />}
    </Page>
  )
}

function NeedsAdmin({ title }: { title: string }) {
  return (
    <Section title={title}>
      <p className="soft">Reading this needs the role admin, or a key with the scope admin.</p>
    </Section>
  )
}

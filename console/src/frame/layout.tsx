/** What surrounds all pages: the navigation at the side, and the page. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { Navigate, Outlet, useLocation } from "@tanstack/react-router"
import { type ReactNode, Suspense } from "react"
import { chooseWorkspace, sessionQuery } from "../platform/session.js"
import { Loading } from "./empty.js"
import { AgentNavigation, PlatformNavigation } from "./navigation.js"
import { type RawSearch, textIn } from "./search.js"

export function PlatformFrame() {
  const { data: session } = useSuspenseQuery(sessionQuery)
  const { href, search } = useLocation()
  const linked = textIn(search as RawSearch, "workspace")
  if (!session) return <Navigate to="/sign-in" search={{ next: href } as never} />
  // Links from elsewhere, such as from a commit's status at a git host, name their workspace.
  if (linked !== undefined && session.workspaces.some((it) => it.workspace_id === linked)) chooseWorkspace(linked)
  return <Frame navigation={<PlatformNavigation session={session} />} />
}

export const AgentFrame = () => <Frame navigation={<AgentNavigation />} />

function Frame({ navigation }: { navigation: ReactNode }) {
  return (
    <div className="frame">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      {navigation}
      <main id="content" className="frame-content" tabIndex={-1}>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
    </div>
  )
}

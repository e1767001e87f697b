/** What surrounds all pages: the navigation at the side, and the page. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { Navigate, Outlet, useLocation } from "@tanstack/react-router"
import { type ReactNode, Suspense } from "react"
import { sessionQuery } from "../platform/session.js"
import { Loading } from "./empty.js"
import { AgentNavigation, PlatformNavigation } from "./navigation.js"

export function PlatformFrame() {
  const { data: session } = useSuspenseQuery(sessionQuery)
  const { href } = useLocation()
  if (!session) return <Navigate to="/sign-in" search={{ next: href } as never} />
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

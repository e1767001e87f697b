/** What surrounds all pages: the navigation at the side, and the page. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { Outlet, useLocation, useRouter } from "@tanstack/react-router"
import { type ReactNode, Suspense, useEffect, useRef } from "react"
import { Loading } from "../frame/empty.js"
import { type RawSearch, textIn } from "../frame/search.js"
import { chooseWorkspace, sessionQuery } from "../platform/session.js"
import { AgentNavigation, PlatformNavigation } from "./navigation.js"

export function PlatformFrame() {
  const { data: session } = useSuspenseQuery(sessionQuery)
  const { search } = useLocation()
  const linked = textIn(search as RawSearch, "workspace")
  if (!session) return <SignInFirst />
  // Links from elsewhere, such as from a commit's status at a git host, name their workspace.
  if (linked !== undefined && session.workspaces.some((it) => it.workspace_id === linked)) chooseWorkspace(linked)
  return <Frame navigation={<PlatformNavigation session={session} />} />
}

function SignInFirst() {
  const router = useRouter()
  // Once: `Navigate` would navigate again at each render, and a change of the address is one.
  useEffect(() => {
    const { href } = router.state.location
    void router.navigate({ to: "/sign-in", search: { next: href } as never, replace: true })
  }, [router])
  return null
}

export const AgentFrame = () => <Frame navigation={<AgentNavigation />} />

function Frame({ navigation }: { navigation: ReactNode }) {
  const content = useRef<HTMLElement>(null)
  return (
    <div className="frame">
      {/* No link: the document has a base address, so `#content` would lead to another page. */}
      <button type="button" className="skip" onClick={() => content.current?.focus()}>
        Skip to the content
      </button>
      {navigation}
      <main id="content" ref={content} className="frame-content" tabIndex={-1}>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
    </div>
  )
}

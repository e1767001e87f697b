/** What surrounds all pages: the navigation (at the side, or in a drawer), the palette and the keys, and the page. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { Outlet, useLocation, useRouter } from "@tanstack/react-router"
import { type ComponentType, lazy, Suspense, useEffect, useRef, useState } from "react"
import { DialogWaits } from "../frame/dialog-waits.js"
import { FirstButton } from "../frame/first-button.js"
import { Menu, Search } from "../frame/icons.js"
import { PageLoading, TitleContext } from "../frame/page.js"
import { type RawSearch, textIn } from "../frame/search.js"
import { chooseWorkspace, type Session, sessionQuery, workspaceOf } from "../platform/session.js"
import { keepFocus } from "./kept-focus.js"
import { agentGroups, HomeLink, Navigation, usePlatformGroups, useShownDeployment } from "./navigation.js"
import type { HomePaletteProps } from "./palettes.js"
import type { PlaceGroup } from "./places.js"
import { Stale } from "./stale.js"
import { useNarrow } from "./use-narrow.js"
import { type Overlay, useShortcuts } from "./use-shortcuts.js"

// What opens over a page is loaded when it opens.
const Drawer = lazy(async () => ({ default: (await import("./drawer.js")).Drawer }))
const Help = lazy(async () => ({ default: (await import("./help.js")).Help }))
const PlatformPalette = lazy(async () => ({ default: (await import("./palettes.js")).PlatformPalette }))
const AgentPalette = lazy(async () => ({ default: (await import("./palettes.js")).AgentPalette }))

export function PlatformFrame() {
  const { data: session } = useSuspenseQuery(sessionQuery)
  const { search } = useLocation()
  const linked = textIn(search as RawSearch, "workspace")
  if (!session) return <SignInFirst />
  // Links from elsewhere, such as from a commit's status at a git host, name their workspace.
  const isOther = linked !== undefined && linked !== workspaceOf(session)?.workspace_id
  if (isOther && session.workspaces.some((it) => it.workspace_id === linked)) chooseWorkspace(linked)
  return <SignedInFrame session={session} />
}

function SignedInFrame({ session }: { session: Session }) {
  const deploymentId = useShownDeployment()
  const groups = usePlatformGroups(session, deploymentId)
  return <Frame groups={groups} deploymentId={deploymentId} session={session} Palette={PlatformPalette} />
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

export const AgentFrame = () => <Frame groups={agentGroups} Palette={AgentPalette} />

interface FrameProps {
  readonly groups: readonly PlaceGroup[]
  readonly deploymentId?: string | undefined
  readonly session?: Session | undefined
  readonly Palette: ComponentType<HomePaletteProps>
}

function Frame({ groups, deploymentId, session, Palette }: FrameProps) {
  const content = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  const isNarrow = useNarrow()
  // Each belongs to the page on which it was opened: where it leads, it is closed.
  const [opened, setOpened] = useState<{ readonly overlay: Overlay | "drawer"; readonly at: string } | undefined>()
  const shown = opened?.at === pathname ? opened.overlay : undefined
  const open = (overlay: Overlay | "drawer") => setOpened({ overlay, at: pathname })
  const close = () => setOpened(undefined)
  useShortcuts(groups, open)
  useEffect(() => {
    const { current } = content
    return current?.parentElement ? keepFocus(current.parentElement, current) : undefined
  }, [])
  const onFollow = isNarrow ? close : undefined
  const navigation = <Navigation {...{ groups, session, onFollow }} onSearch={() => open("palette")} />
  return (
    <div className="frame">
      {/* No link: the document has a base address, so `#content` would lead to another page. */}
      <button type="button" className="skip" onClick={() => content.current?.focus()}>
        Skip to the content
      </button>
      {isNarrow ? <Bar groups={groups} onOpen={open} /> : navigation}
      <main id="content" ref={content} className="frame-content" tabIndex={-1}>
        <Stale />
        <TitleContext value={titleAt(groups, pathname)}>
          <Suspense fallback={<PageLoading />}>
            <Outlet />
          </Suspense>
        </TitleContext>
      </main>
      <Suspense fallback={<DialogWaits />}>
        {shown === "drawer" && isNarrow && <Drawer onClose={close}>{navigation}</Drawer>}
        {shown === "help" && <Help groups={groups} onClose={close} />}
        {shown === "palette" && (
          <Palette groups={groups} deploymentId={deploymentId} onHelp={() => open("help")} onClose={close} />
        )}
      </Suspense>
    </div>
  )
}

function titleAt(groups: readonly PlaceGroup[], pathname: string): string | undefined {
  const [place] = groups.flatMap(({ places }) => places).filter(({ to }) => to === pathname.replace(/(?<=.)\/$/, ""))
  return place?.label
}

/** Above the page in a narrow window. */
const Bar = ({ groups, onOpen }: { groups: readonly PlaceGroup[]; onOpen: (overlay: Overlay | "drawer") => void }) => (
  <header className="bar">
    <FirstButton look="quiet" label="Navigation" onPress={() => onOpen("drawer")}>
      <Menu size={18} aria-hidden />
    </FirstButton>
    <HomeLink name={groups.at(-1)?.deployment} />
    <FirstButton look="quiet" label="Go to…" onPress={() => onOpen("palette")}>
      <Search size={18} aria-hidden />
    </FirstButton>
  </header>
)

/** The navigation: at the side, or in the drawer of a narrow window. */
import { useQuery } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { lazy, type ReactNode, Suspense, useMemo } from "react"
import {
  Activity,
  BookOpen,
  Bot,
  Boxes,
  CalendarClock,
  Database,
  Gauge,
  GitCommitHorizontal,
  Hand,
  History,
  type Icon,
  MessagesSquare,
  Rows3,
  ScrollText,
  Search,
  Settings,
  SlidersHorizontal,
} from "../frame/icons.js"
import { Logo } from "../frame/logo.js"
import { callPlatform, platformApi } from "../platform/api.js"
import { paths } from "../platform/paths.js"
import { type Session, workspaceOf } from "../platform/session.js"
import { useHome } from "../requests/home.js"
import { areIds } from "../requests/request-path.js"
import { agentPlaces, deploymentPlaces, type Place, type PlaceGroup, type PlaceIcon, platformPlaces } from "./places.js"

// Menus and choices are a large part of react-aria-components, and the first screen needs no other ones.
const Account = lazy(async () => ({ default: (await import("./account.js")).Account }))
const ThemeSwitch = lazy(async () => ({ default: (await import("./theme-switch.js")).ThemeSwitch }))

/** The deployment whose pages are shown; undefined elsewhere. */
export function useShownDeployment(): string | undefined {
  const params = useParams({ strict: false }) as { deploymentId?: string }
  return areIds({ ...params }) ? params.deploymentId : undefined
}

export function usePlatformGroups(session: Session, deploymentId: string | undefined): readonly PlaceGroup[] {
  const api = platformApi(workspaceOf(session)?.workspace_id)
  const { data } = useQuery({
    queryKey: ["deployment", deploymentId],
    queryFn: () => callPlatform<{ name: string }>(api, paths.deployment(deploymentId ?? "")),
    enabled: deploymentId !== undefined,
  })
  const name = data?.name ?? "Deployment"
  return useMemo(() => {
    const shown = platformPlaces(deploymentId !== undefined)
    if (deploymentId === undefined) return [{ places: shown }]
    return [{ places: shown }, { deployment: name, places: deploymentPlaces(deploymentId) }]
  }, [deploymentId, name])
}

export const agentGroups: readonly PlaceGroup[] = [{ places: agentPlaces("") }]

interface Following {
  /** After a click on a link, which may lead to the present page. */
  readonly onFollow?: (() => void) | undefined
}

interface NavigationProps extends Following {
  readonly groups: readonly PlaceGroup[]
  /** Undefined below `superstep dev`, which asks for no key. */
  readonly session?: Session | undefined
  readonly onSearch: () => void
}

export function Navigation({ groups, session, onSearch, onFollow }: NavigationProps) {
  return (
    <nav className="side" aria-label="Console">
      <HomeLink onFollow={onFollow} />
      <button type="button" className="side-item side-search" aria-keyshortcuts="Control+K" onClick={onSearch}>
        <Search size={16} aria-hidden />
        Go to…
        <kbd aria-hidden>Ctrl K</kbd>
      </button>
      <div className="side-items">
        {groups.map(({ deployment, places }) => (
          <div key={deployment ?? ""}>
            {deployment !== undefined && <h2 className="side-heading cut">{deployment}</h2>}
            <ul>
              {places.map((place) => (
                <Item key={place.to} {...place} onFollow={onFollow} />
              ))}
              {deployment === undefined && session && <Documentation />}
            </ul>
          </div>
        ))}
      </div>
      <div className="side-foot">
        <Suspense fallback={<div className="account" />}>
          <Foot session={session} />
          <ThemeSwitch />
        </Suspense>
      </div>
    </nav>
  )
}

function Foot({ session }: { session: Session | undefined }): ReactNode {
  const { version } = useHome()
  return session ? <Account session={session} /> : <p className="side-version">superstep {version}</p>
}

/** Not a page of the console: the control plane serves it beside the console. */
const Documentation = () => (
  <li>
    <a href="/docs/" className="side-item">
      <BookOpen size={16} aria-hidden />
      Documentation
    </a>
  </li>
)

/** @param props.name  of what is shown, where the navigation does not say it */
export const HomeLink = ({ name = "Superstep", onFollow }: { name?: string | undefined } & Following) => (
  <Link to="/" className="side-logo" onClick={onFollow}>
    <Logo />
    {name}
  </Link>
)

const icons: Readonly<Record<PlaceIcon, Icon>> = {
  Activity,
  Bot,
  Boxes,
  CalendarClock,
  Database,
  Gauge,
  GitCommitHorizontal,
  Hand,
  History,
  MessagesSquare,
  Rows3,
  ScrollText,
  Settings,
  SlidersHorizontal,
}

function Item({ to, label, icon, isExact = false, onFollow }: Place & Following) {
  const Shape = icons[icon]
  return (
    <li>
      <Link to={to} className="side-item" onClick={onFollow} activeOptions={{ exact: isExact, includeSearch: false }}>
        <Shape size={16} aria-hidden />
        {label}
      </Link>
    </li>
  )
}

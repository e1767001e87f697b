/** The navigation at the side. Inside a deployment it also lists the pages of that deployment and of its agent. */
import { useQuery } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { lazy, type ReactNode, Suspense } from "react"
import { useHome } from "../frame/home.js"
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
  Settings,
  SlidersHorizontal,
} from "../frame/icons.js"
import { Logo } from "../frame/logo.js"
import { areIds } from "../frame/request-path.js"
import { callPlatform, platformApi } from "../platform/api.js"
import { paths } from "../platform/paths.js"
import { type Session, workspaceOf } from "../platform/session.js"

// Menus are a large part of react-aria-components, and the first screen needs no other one.
const Account = lazy(async () => ({ default: (await import("./account.js")).Account }))

/** The pages of an agent, in the order in which they are listed. */
const agentItems: readonly (readonly [page: string, label: string, icon: Icon])[] = [
  ["threads", "Threads", MessagesSquare],
  ["runs", "Runs", History],
  ["approvals", "Approvals", Hand],
  ["queue", "Queue", Rows3],
  ["crons", "Crons", CalendarClock],
  ["assistants", "Assistants", Bot],
  ["store", "Store", Database],
]

export function PlatformNavigation({ session }: { session: Session }) {
  const params = useParams({ strict: false }) as { deploymentId?: string }
  const deploymentId = areIds({ ...params }) ? params.deploymentId : undefined
  return (
    <Side
      foot={
        <Suspense fallback={<div className="account" />}>
          <Account session={session} />
        </Suspense>
      }
    >
      <ul>
        <Item to="/" icon={Boxes} isExact={deploymentId === undefined}>
          Deployments
        </Item>
        <Item to="/approvals" icon={Hand}>
          Approvals
        </Item>
        <Item to="/system" icon={Activity}>
          System
        </Item>
        <Item to="/settings" icon={Settings}>
          Settings
        </Item>
        <li>
          {/* Not a page of the console: the control plane serves it beside the console. */}
          <a href="/docs/" className="side-item">
            <BookOpen size={16} aria-hidden />
            Documentation
          </a>
        </li>
      </ul>
      {deploymentId !== undefined && <DeploymentItems session={session} deploymentId={deploymentId} />}
    </Side>
  )
}

function DeploymentItems({ session, deploymentId }: { session: Session; deploymentId: string }) {
  const api = platformApi(workspaceOf(session))
  const { data } = useQuery({
    queryKey: ["deployment", deploymentId],
    queryFn: () => callPlatform<{ name: string }>(api, paths.deployment(deploymentId)),
  })
  const base = `/deployments/${deploymentId}`
  return (
    <>
      <h2 className="side-heading">{data?.name ?? "Deployment"}</h2>
      <ul>
        <Item to={base} icon={Gauge} isExact>
          Overview
        </Item>
        <Item to={`${base}/revisions`} icon={GitCommitHorizontal}>
          Revisions
        </Item>
        <Item to={`${base}/logs`} icon={ScrollText}>
          Logs
        </Item>
        {agentItems.map(([page, label, icon]) => (
          <Item key={page} to={`${base}/agent/${page}`} icon={icon}>
            {label}
          </Item>
        ))}
        <Item to={`${base}/settings`} icon={SlidersHorizontal}>
          Settings
        </Item>
      </ul>
    </>
  )
}

export function AgentNavigation() {
  const { version } = useHome()
  return (
    <Side foot={<p className="side-version">superstep {version}</p>}>
      <ul>
        {agentItems.map(([page, label, icon]) => (
          <Item key={page} to={`/${page}`} icon={icon}>
            {label}
          </Item>
        ))}
      </ul>
    </Side>
  )
}

function Side({ children, foot }: { children: ReactNode; foot: ReactNode }) {
  return (
    <nav className="side" aria-label="Console">
      <Link to="/" className="side-logo">
        <Logo />
        Superstep
      </Link>
      <div className="side-items">{children}</div>
      <div className="side-foot">{foot}</div>
    </nav>
  )
}

function Item({ to, icon: Icon, isExact = false, children }: ItemProps) {
  return (
    <li>
      <Link to={to} className="side-item" activeOptions={{ exact: isExact, includeSearch: false }}>
        <Icon size={16} aria-hidden />
        {children}
      </Link>
    </li>
  )
}

interface ItemProps {
  readonly to: string
  readonly icon: Icon
  readonly isExact?: boolean
  readonly children: ReactNode
}

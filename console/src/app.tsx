/** The console's table of contents: one line a page. Each page is a part of its own, loaded when it is opened. */
import type { QueryClient } from "@tanstack/react-query"
import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  redirect,
} from "@tanstack/react-router"
import { PageLoading } from "./frame/page.js"
import { NotFound, PageFailed } from "./frame/page-failed.js"
import { AgentFrame, PlatformFrame } from "./layout/layout.js"
import { sessionQuery } from "./platform/session.js"
import type { Home } from "./requests/home.js"
import { areIds } from "./requests/request-path.js"

/** Loads the component of a page. `name` is its export. */
type Pages = readonly (readonly [path: string, load: () => Promise<Record<string, unknown>>, name: string])[]

const platformPages: Pages = [
  ["/", () => import("./deployments/deployments-page.js"), "DeploymentsPage"],
  ["/deployments/$deploymentId", () => import("./overview/overview-page.js"), "OverviewPage"],
  ["/deployments/$deploymentId/revisions", () => import("./revisions/revisions-page.js"), "RevisionsPage"],
  ["/deployments/$deploymentId/revisions/$revisionId", () => import("./build-log/build-log-page.js"), "BuildLogPage"],
  ["/deployments/$deploymentId/logs", () => import("./runtime-log/runtime-log-page.js"), "RuntimeLogPage"],
  [
    "/deployments/$deploymentId/settings",
    () => import("./deployment-settings/deployment-settings-page.js"),
    "DeploymentSettingsPage",
  ],
  ["/settings", () => import("./settings/settings-page.js"), "SettingsPage"],
  ["/system", () => import("./system/system-page.js"), "SystemPage"],
  ["/runs", () => import("./all-runs/all-runs-page.js"), "AllRunsPage"],
  ["/approvals", () => import("./approvals/all-approvals-page.js"), "AllApprovalsPage"],
]

/** The same pages at `/deployments/<id>/agent/…` and at `/studio/…`. */
const agentPages: Pages = [
  ["/threads", () => import("./threads/threads-page.js"), "ThreadsPage"],
  ["/threads/$threadId", () => import("./thread/thread-page.js"), "ThreadPage"],
  ["/threads/$threadId/runs/$runId", () => import("./run/run-page.js"), "RunPage"],
  ["/approvals", () => import("./approvals/approvals-page.js"), "ApprovalsPage"],
  ["/runs", () => import("./runs/runs-page.js"), "RunsPage"],
  ["/queue", () => import("./queue/queue-page.js"), "QueuePage"],
  ["/crons", () => import("./crons/crons-page.js"), "CronsPage"],
  ["/assistants", () => import("./assistants/assistants-page.js"), "AssistantsPage"],
  ["/store", () => import("./store/store-page.js"), "StorePage"],
]

// Their part includes the official client, which no page of the platform needs.
const agentLayout = () => import("./agent/agent-layout.js")

const pagesBelow = (parent: AnyRoute, pages: Pages): AnyRoute[] =>
  pages.map(([path, load, name]) =>
    createRoute({
      getParentRoute: () => parent,
      path,
      beforeLoad: onlyIds,
      component: lazyRouteComponent(load as never, name as never),
    }),
  )

/** An agent's pages have no page of their own at their start, which commands print and links lead to: it opens the threads. */
const firstPage = (parent: AnyRoute, to: string): AnyRoute =>
  createRoute({
    getParentRoute: () => parent,
    path: "/",
    beforeLoad: ({ params }) => {
      onlyIds({ params })
      throw redirect({ to, params, replace: true } as never)
    },
  })

/** A link with anything else in place of an id opens no page, so it makes no page send requests. */
function onlyIds({ params }: { params: Readonly<Record<string, string>> }): void {
  if (!areIds(params)) throw notFound()
}

export function createConsoleRouter({ home, base }: Home, queryClient: QueryClient) {
  return createRouter({
    routeTree: home === "platform" ? platformTree(queryClient) : agentTree(),
    basepath: base.pathname,
    defaultPreload: "intent",
    defaultPendingComponent: PageLoading,
    defaultErrorComponent: PageFailed,
    defaultNotFoundComponent: NotFound,
    scrollRestoration: true,
  })
}

function platformTree(queryClient: QueryClient) {
  const root = createRootRoute()
  const [signIn] = pagesBelow(root, [["/sign-in", () => import("./sign-in/sign-in-page.js"), "SignInPage"]])
  const frame = createRoute({
    getParentRoute: () => root,
    id: "platform",
    component: PlatformFrame,
    loader: () => queryClient.ensureQueryData(sessionQuery),
  })
  const agent: AnyRoute = createRoute({
    getParentRoute: () => frame,
    path: "/deployments/$deploymentId/agent",
    beforeLoad: onlyIds,
    component: lazyRouteComponent(agentLayout, "DeployedAgentLayout"),
  })
  agent.addChildren([firstPage(agent, "/deployments/$deploymentId/agent/threads"), ...pagesBelow(agent, agentPages)])
  frame.addChildren([...pagesBelow(frame, platformPages), agent])
  return root.addChildren([signIn as AnyRoute, frame])
}

function agentTree() {
  const root = createRootRoute({ component: AgentFrame })
  const agent: AnyRoute = createRoute({
    getParentRoute: () => root,
    id: "agent",
    component: lazyRouteComponent(agentLayout, "OwnAgentLayout"),
  })
  agent.addChildren([firstPage(agent, "/threads"), ...pagesBelow(agent, agentPages)])
  return root.addChildren([agent])
}

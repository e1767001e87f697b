/** The control plane's API: one line per domain, served at the root and below `/api-host` (control-plane §1.1). */

import { BlockList } from "node:net"
import type { Edge } from "@superstep/edge/port"
import type { Tally } from "@superstep/edge/tallies"
import type { Secret } from "@superstep/toolkit/config/settings"
import type { Database } from "@superstep/toolkit/db/database"
import { TooLarge, Unavailable } from "@superstep/toolkit/errors/errors"
import { errorHandler } from "@superstep/toolkit/http/errors"
import { notFound } from "@superstep/toolkit/http/not-found"
import { identifyReplies } from "@superstep/toolkit/http/reply-headers"
import { createApi } from "@superstep/toolkit/http/route"
import { staticSite } from "@superstep/toolkit/http/static-site"
import type { Log } from "@superstep/toolkit/log/log"
import { Hono, type MiddlewareHandler } from "hono"
import { bodyLimit } from "hono/body-limit"
import { auditWrites } from "./access/audit-writes.js"
import { authenticate, identifyBy } from "./access/authenticate.js"
import { auditedDatabase } from "./audit/operations.js"
import { addAuditRoutes } from "./audit/routes.js"
import type { ReadCodeChanges } from "./code-changes/operations.js"
import { addCodeChangeRoutes } from "./code-changes/routes.js"
import { addCodeRoute, addSessionRoutes } from "./console/routes.js"
import { addSessionListRoutes } from "./console/session-list-routes.js"
import { addSite, pageOrNotFound } from "./console/site-routes.js"
import { addDeploymentActions } from "./deployments/action-routes.js"
import { addAgentTokenRoute } from "./deployments/agent-token-routes.js"
import { addGithubRepositories } from "./deployments/github-routes.js"
import type { HostNameRules } from "./deployments/host-name-operations.js"
import { addHostNameRoutes } from "./deployments/host-name-routes.js"
import { findDeployment } from "./deployments/operations.js"
import type { ResourceTiers } from "./deployments/resource-tiers.js"
import { addRevisionRoutes } from "./deployments/revision-list-routes.js"
import { addRevisionActions } from "./deployments/revision-routes.js"
import { usedIn } from "./deployments/room.js"
import { addDeploymentRoutes } from "./deployments/routes.js"
import { addSecretRoutes } from "./deployments/secret-routes.js"
import { addStatusPage } from "./deployments/status-page.js"
import { addUploadRoutes, isUpload } from "./deployments/upload-routes.js"
import { addReference } from "./docs/reference.js"
import { addDocs } from "./docs/routes.js"
import { addEventRoutes } from "./events/routes.js"
import { countFailures } from "./http/count-failures.js"
import { addIntegrationRoutes } from "./integrations/routes.js"
import { exchangeWithListeners } from "./listeners/exchange/exchange-routes.js"
import { listenerExists } from "./listeners/operations.js"
import { addListenerRoutes } from "./listeners/routes.js"
import { addListenerTokenRoutes } from "./listeners/token-routes.js"
import { LiveLogs } from "./logs/live-logs.js"
import { addLogRoutes } from "./logs/routes.js"
import { addLogStreamRoutes } from "./logs/stream-routes.js"
import type { Place } from "./metrics/machine.js"
import { whyEdgesBehind } from "./metrics/problems.js"
import { addMetricsRoutes } from "./metrics/routes.js"
import type { RunSample } from "./metrics/run-sample.js"
import { addSystemRoute } from "./metrics/system-routes.js"
import { connectProvider } from "./people/oidc/provider.js"
import type { ProviderSettings } from "./people/oidc/settings.js"
import { addPeopleRoutes } from "./people/routes.js"
import { addSignInRoutes } from "./people/sign-in-routes.js"
import { takePullRequest } from "./previews/operations.js"
import { addPreviewRoutes } from "./previews/routes.js"
import { addDeliveryRoutes, addWebhookRoutes, isDeliveryPath } from "./pushes/routes.js"
import type { Amounts } from "./quotas/quota.js"
import { addQuotaRoutes } from "./quotas/routes.js"
import type { GitProtocol } from "./revisions/repository.js"
import type { MasterKey } from "./secrets/seal.js"
import type { AddressRules } from "./webhooks/address-rules.js"
import { addOutgoingWebhookRoutes } from "./webhooks/routes.js"
import { addKeyRoutes } from "./workspaces/routes.js"

export interface AppOptions {
  readonly db: Database
  readonly log: Log
  /** Encrypts secrets and tokens. */
  readonly key: MasterKey
  /** The public address of the edge, such as `http://127.0.0.1:8901`. */
  readonly agentsUrl: string
  readonly gitProtocols: readonly GitProtocol[]
  /** Quotas of workspaces for which the operator has set none. */
  readonly defaultQuotas: Amounts
  /** The resources that each named size stands for. */
  readonly resourceTiers: ResourceTiers
  /** The installation's own webhook secrets for git hosts. */
  readonly webhookSecrets?: readonly Secret[]
  /** How long after a push its branch is polled once more, in milliseconds; 0: never. */
  readonly pollMs?: number
  /** Where a test kills this process. */
  readonly crashPoint?: (name: string) => void
  /** The public address of the API, if it differs from the one that clients use. */
  readonly publicUrl?: string | undefined
  /** The folder with the files of the console. */
  readonly consoleFolder: string
  /** The folder with the built documentation; it may be missing. */
  readonly docsFolder: string
  readonly version: string
  /** Where the console is served, as browsers name it; default nowhere, so no session is accepted. */
  readonly consoleOrigins?: readonly string[]
  /** Closing it ends all streams of logs; default one of the app's own. */
  readonly liveLogs?: LiveLogs
  /** With which people sign in; default none. */
  readonly oidcProvider?: ProviderSettings | undefined
  /** While it returns true, requests get 503; default never. */
  readonly isStopping?: () => boolean
  /** While it returns true, /health returns 503; default never. */
  readonly isStarting?: () => boolean
  /** Gives the edge the rights of all keys as they are stored now; default nothing, without an edge. */
  readonly publishRoutes?: () => Promise<void>
  /** How long the pipeline has been running, in milliseconds; default the uptime of the process. */
  readonly upMs?: () => number
  /** The edge's counts of answers, for operators; empty without an edge. */
  readonly edgeTallies?: () => Promise<Readonly<Record<string, Tally>>>
  /** What is known of each edge's table; none without an edge. */
  readonly edgeTables?: Edge["tables"]
  /** Runs by revision since the control plane started; default none. */
  readonly runTotals?: () => readonly RunSample[]
  /** What the work in the background fails at, in words; default nothing. */
  readonly failing?: () => readonly string[]
  /** The machine's values for operators. */
  readonly place: Place
  /** Which addresses webhooks may call. */
  readonly webhookRules: AddressRules
  readonly hostNames: HostNameRules
  /** Ends streams of events. */
  readonly stopping?: AbortSignal
  /** Reverse proxies whose X-Forwarded headers are believed; default none. */
  readonly trustedProxies?: BlockList
  readonly keyFailuresPerMinute?: number
  /** Compares the code of revisions. */
  readonly readCodeChanges: ReadCodeChanges
  /** Most bytes of logs of a deployment that a listener reports. */
  readonly logQuotaBytes?: number
}

// Room for 500 secrets of ordinary size; archives have routes and limits of their own.
const maxBodyBytes = 1024 * 1024

// As a control plane without that setting.
const usualLogQuotaBytes = 100 * 1024 * 1024

/** @returns  an app whose `fetch` serves the whole API; it owns nothing that must be closed */
export function createApp(given: AppOptions): Hono {
  const { stopping = new AbortController().signal } = given
  const options = { ...given, stopping, db: auditedDatabase(given.db), findDeployment, listenerExists }
  const { db, log, isStopping = () => false } = options
  const api = createApi()
  // Before the check of the API key: these requests carry a signature instead.
  addDeliveryRoutes(
    api,
    { ...options, webhookSecrets: options.webhookSecrets ?? [], lookMs: options.pollMs ?? 0 },
    (tx, deployments, event) => takePullRequest(tx, options, deployments, event),
  )
  const { trustedProxies = new BlockList(), keyFailuresPerMinute = 100, logQuotaBytes = usualLogQuotaBytes } = options
  const counted = countFailures(trustedProxies, keyFailuresPerMinute)
  const entering = { db, log, trustedProxies, counted, consoleOrigins: options.consoleOrigins ?? [] }
  const identify = identifyBy(entering)
  addSessionRoutes(api, entering)
  const publishRoutes = given.publishRoutes ?? (async () => undefined)
  const provider = options.oidcProvider && connectProvider(options.oidcProvider)
  addSignInRoutes(api, { ...entering, key: options.key, provider, publishRoutes })
  const entrance = authenticate(identify)
  for (const version of ["/v1/*", "/v2/*"]) api.use(version, entrance, auditWrites({ db, trustedProxies }))
  addDeploymentRoutes(api, options)
  addDeploymentActions(api, options)
  addStatusPage(api, { ...options, identify })
  addRevisionRoutes(api, options)
  addRevisionActions(api, options)
  addCodeChangeRoutes(api, options)
  addLogRoutes(api, options)
  addLogStreamRoutes(api, { ...options, liveLogs: options.liveLogs ?? new LiveLogs({ db, log }) })
  addSecretRoutes(api, options)
  addIntegrationRoutes(api, options)
  addKeyRoutes(api, { db, log, publishRoutes })
  addPeopleRoutes(api, { db, log, publishRoutes, publicUrl: options.publicUrl })
  addCodeRoute(api, options)
  addSessionListRoutes(api, options)
  addAgentTokenRoute(api, options)
  addGithubRepositories(api, options)
  addListenerRoutes(api, options)
  addListenerTokenRoutes(api, options)
  addEventRoutes(api, options)
  addAuditRoutes(api, options)
  addOutgoingWebhookRoutes(api, options)
  addWebhookRoutes(api, options)
  addUploadRoutes(api, options)
  addQuotaRoutes(api, { ...options, usedIn })
  addHostNameRoutes(api, options)
  addPreviewRoutes(api, options)
  const edgeTables = given.edgeTables ?? (async () => [])
  addMetricsRoutes(api, {
    ...options,
    edgeTallies: given.edgeTallies ?? (async () => ({})),
    edgeTables,
    runTotals: given.runTotals ?? (() => []),
  })
  const upMs = options.upMs ?? (() => process.uptime() * 1000)
  const failing = async () => {
    const behind = whyEdgesBehind(await edgeTables())
    return [...(options.failing?.() ?? []), ...(behind === undefined ? [] : [behind])]
  }
  addSystemRoute(api, { db, place: options.place, upMs, failing })
  addReference(api, { db, isStarting: options.isStarting ?? (() => false), upMs, failing })

  const app = new Hono()
  app.use(identifyReplies(protection))
  app.use(async (_, next) => {
    if (isStopping()) throw new Unavailable("the control plane is stopping: try again in a moment", 2000)
    await next()
  })
  app.use(limitBody)
  app.onError(errorHandler({ log, detail: "list" }))
  addDocs(app, options.docsFolder)
  app.route("/", api)
  app.route("/api-host", api)
  app.route("/", exchangeWithListeners({ ...options, db: given.db, counted, logQuotaBytes }))
  const site = staticSite({ folder: options.consoleFolder, base: "/", connectsTo: [new URL(options.agentsUrl).origin] })
  addSite(app, { site, version: options.version })
  app.notFound(pageOrNotFound(site, notFound(app)))
  return app
}

/**
 * Replies contain texts of strangers, such as log lines. A browser must not take them for something else than they are called, and no page
 * of another origin may load them.
 */
const protection = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" }

const usualLimit = bodyLimit({
  maxSize: maxBodyBytes,
  onError: () => {
    throw new TooLarge(`the body is larger than ${maxBodyBytes} bytes`)
  },
})
/** Archives and deliveries are larger, and have limits of their own. */
const limitBody: MiddlewareHandler = (c, next) =>
  isUpload(c.req.path) || isDeliveryPath(c.req.path) ? next() : usualLimit(c, next)

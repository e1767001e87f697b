/** The control plane's API: one line a domain, served at the root and below `/api-host` (control-plane §1.1). */
import { BlockList } from "node:net"
import type { Secret } from "@superstep/toolkit/config/settings"
import type { Database } from "@superstep/toolkit/db/database"
import { TooLarge, Unavailable } from "@superstep/toolkit/errors/errors"
import { errorHandler } from "@superstep/toolkit/http/errors"
import { notFound } from "@superstep/toolkit/http/not-found"
import { createApi } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { Hono, type MiddlewareHandler } from "hono"
import { bodyLimit } from "hono/body-limit"
import { auditedDatabase } from "./audit/operations.js"
import { addAuditRoutes } from "./audit/routes.js"
import { addDeploymentActions } from "./deployments/action-routes.js"
import { addGithubRepositories } from "./deployments/github-routes.js"
import type { GitProtocol } from "./deployments/repository.js"
import type { ResourceTiers } from "./deployments/resource-tiers.js"
import { addRevisionActions } from "./deployments/revision-routes.js"
import { addDeploymentRoutes } from "./deployments/routes.js"
import { addStatusPage } from "./deployments/status-page.js"
import type { Tally } from "./edge/tallies.js"
import { addEventRoutes } from "./events/routes.js"
import { auditWrites } from "./http/audit-writes.js"
import { authenticate, identifyBy } from "./http/authenticate.js"
import { addReference } from "./http/reference.js"
import { requestId } from "./http/request-id.js"
import { addIntegrationRoutes } from "./integrations/routes.js"
import { addListenerRoutes } from "./listeners/routes.js"
import { LiveLogs } from "./logs/live-logs.js"
import { addLogRoutes } from "./logs/routes.js"
import { addLogStreamRoutes } from "./logs/stream-routes.js"
import { addMetricsRoutes } from "./metrics/routes.js"
import { takePullRequest } from "./previews/operations.js"
import { addPreviewRoutes } from "./previews/routes.js"
import { addDeliveryRoutes, addWebhookRoutes, isDeliveryPath } from "./pushes/routes.js"
import { addRevisionRoutes } from "./revisions/routes.js"
import { addSecretRoutes } from "./secrets/routes.js"
import type { MasterKey } from "./secrets/seal.js"
import { addUploadRoutes, isUpload } from "./uploads/routes.js"
import type { AddressRules } from "./webhooks/address-rules.js"
import { addOutgoingWebhookRoutes } from "./webhooks/routes.js"
import { addKeyRoutes } from "./workspaces/routes.js"

export interface AppOptions {
  readonly db: Database
  readonly log: Log
  /** Seals secrets and tokens. */
  readonly key: MasterKey
  /** Where the edge is reached from outside, such as `http://127.0.0.1:8901`. */
  readonly agentsUrl: string
  readonly gitProtocols: readonly GitProtocol[]
  /** Most units of a workspace. */
  readonly unitsPerWorkspace: number
  /** What the names of sizes mean. */
  readonly resourceTiers: ResourceTiers
  /** The installation's own secrets of git hosts' webhooks. */
  readonly webhookSecrets?: readonly Secret[]
  /** How long after a push its branch is looked at once more, in milliseconds; 0: never. */
  readonly pollMs?: number
  /** Holds the archives that clients send. */
  readonly uploadsFolder: string
  /** Where a test ends this process. */
  readonly crashPoint?: (name: string) => void
  /** Where the API is reached from outside, when that is not where clients reach it. */
  readonly publicUrl?: string | undefined
  /** Whoever closes it ends all streams of logs; one of the app's own unless told. */
  readonly liveLogs?: LiveLogs
  /** Answers 503 while it says true; the default never does. */
  readonly isStopping?: () => boolean
  /** Its health is 503 while it says true; the default never does. */
  readonly isStarting?: () => boolean
  /** What the edge has answered, for operators; none without an edge. */
  readonly edgeTallies?: () => Promise<Readonly<Record<string, Tally>>>
  /** Where webhooks may go. */
  readonly webhookRules: AddressRules
  /** Ends streams of events. */
  readonly stopping?: AbortSignal
  /** Reverse proxies whose X-Forwarded headers are believed; none, unless said. */
  readonly trustedProxies?: BlockList
  readonly keyFailuresPerMinute?: number
}

// Room for 500 secrets of ordinary size; archives do not travel through these routes.
const maxBodyBytes = 1024 * 1024

/** @returns an app whose `fetch` serves the whole API; it owns nothing that has to be closed */
export function createApp(given: AppOptions): Hono {
  const { stopping = new AbortController().signal } = given
  const options = { ...given, stopping, db: auditedDatabase(given.db) }
  const { db, log, isStopping = () => false } = options
  const api = createApi()
  // Before the key is asked for: these are proved by a signature.
  addDeliveryRoutes(
    api,
    { ...options, webhookSecrets: options.webhookSecrets ?? [], lookMs: options.pollMs ?? 0 },
    (tx, deployments, event) => takePullRequest(tx, options, deployments, event),
  )
  const { trustedProxies = new BlockList(), keyFailuresPerMinute = 100 } = options
  const identify = identifyBy({ db, trustedProxies, keyFailuresPerMinute })
  const entrance = authenticate(identify)
  for (const version of ["/v1/*", "/v2/*"]) api.use(version, entrance, auditWrites({ db, trustedProxies }))
  addDeploymentRoutes(api, options)
  addDeploymentActions(api, options)
  addStatusPage(api, { ...options, identify })
  addRevisionRoutes(api, options)
  addRevisionActions(api, options)
  addLogRoutes(api, options)
  addLogStreamRoutes(api, { db, liveLogs: options.liveLogs ?? new LiveLogs({ db, log }) })
  addSecretRoutes(api, options)
  addIntegrationRoutes(api, options)
  addKeyRoutes(api, options)
  addGithubRepositories(api, options)
  addListenerRoutes(api, options)
  addEventRoutes(api, options)
  addAuditRoutes(api, options)
  addOutgoingWebhookRoutes(api, options)
  addWebhookRoutes(api, options)
  addUploadRoutes(api, options)
  addPreviewRoutes(api, options)
  addMetricsRoutes(api, { ...options, edgeTallies: given.edgeTallies ?? (async () => ({})) })
  addReference(api, { db, isStarting: options.isStarting ?? (() => false) })

  const app = new Hono()
  app.use(requestId)
  app.use(async (_, next) => {
    if (isStopping()) throw new Unavailable("the control plane is stopping: try again in a moment", 2000)
    await next()
  })
  app.use(limitBody)
  app.onError(errorHandler({ log, detail: "list" }))
  app.route("/", api)
  app.route("/api-host", api)
  app.notFound(notFound(app))
  return app
}

const usualLimit = bodyLimit({
  maxSize: maxBodyBytes,
  onError: () => {
    throw new TooLarge(`the body is larger than ${maxBodyBytes} bytes`)
  },
})
/** Archives and deliveries are larger, and have limits of their own. */
const limitBody: MiddlewareHandler = (c, next) =>
  isUpload(c.req.path) || isDeliveryPath(c.req.path) ? next() : usualLimit(c, next)

/** HTTP with which people sign in: by the provider, or where none is set by the link of an invitation. */
import type { Database } from "@superstep/toolkit/db/database"
import { Conflict, KnownError, Unauthenticated, Unavailable } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { actorText } from "../audit/audit-entry.js"
import { requireOwnOrigin, requireOwnPage } from "../console/own-origins.js"
import { requestOf, type SessionRoutes, sendNewSession } from "../console/routes.js"
import { sessionReply } from "../console/schema.js"
import { returnedCookie, sessionIdsOf } from "../console/session.js"
import { askedPage } from "../http/asked-page.js"
import type { MasterKey } from "../secrets/seal.js"
import { attemptCookie, attemptIn, clearedAttempt } from "./oidc/attempt-cookie.js"
import type { Provider } from "./oidc/provider.js"
import { linkBody, startBody, startReply, waysReply } from "./schema.js"
import { signInByLink, signInIdentified } from "./sign-in-operations.js"

export interface SignInRoutes extends SessionRoutes {
  readonly db: Database
  readonly key: MasterKey
  readonly provider: Provider | undefined
  /** Gives the edge the rights of all callers as they are stored now. */
  readonly publishRoutes: () => Promise<void>
}

const callbackPath = "/v2/console/oidc/callback"

/** Before the check of the caller: a person who signs in has no session yet. */
export function addSignInRoutes(api: Api, options: SignInRoutes): void {
  addWays(api, options)
  addStart(api, options)
  addCallback(api, options)
  addLink(api, options)
}

function addWays(api: Api, { provider }: SignInRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/console/sign-in",
    summary: "Says how people sign in to the console.",
    responses: { 200: { description: "the ways", schema: waysReply } },
    handle: async ({ c }) => {
      c.header("cache-control", "no-store")
      return c.json({ provider: provider ? { name: provider.name } : null })
    },
  })
}

function addStart(api: Api, { log, key, provider, trustedProxies, consoleOrigins }: SignInRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/v2/console/oidc",
    summary: "Begins a sign-in by the OIDC provider: the page goes to the address in the reply.",
    body: startBody,
    responses: {
      200: { description: "where to go", schema: startReply },
      403: { description: "a page of another origin sends the request (`cross_site`)" },
      409: { description: "no provider is set (`no_provider`)" },
      503: { description: "the provider does not answer" },
    },
    handle: async ({ c, body }) => {
      if (!provider) throw new Conflict("no OIDC provider is set: sign in by invitation or key", "no_provider")
      const page = askedPage(c, trustedProxies)
      requireOwnPage(consoleOrigins, page)
      // `requireOwnPage` has accepted the origin, so nobody can have the browser sent back to another place.
      const redirectUri = `${page.origin}${callbackPath}`
      const { url, attempt } = await provider.begin(redirectUri).catch((err: unknown) => {
        log.warn({ err }, "the OIDC provider does not answer")
        throw new Unavailable(`${provider.name} does not answer: try again, or sign in with a key`, 5000)
      })
      const begun = {
        ...attempt,
        ...(body.invitation && { invitation: body.invitation }),
        ...(body.next && { next: body.next }),
      }
      c.header("set-cookie", attemptCookie(key, begun, { now: new Date(), isSecure: page.isSecure }))
      c.header("cache-control", "no-store")
      return c.json({ url })
    },
  })
}

/**
 * The browser returns from the provider. It gets a one-time code for the sign-in page, as `superstep console` prints one: that page replaces
 * the session, and asks before it does (C2). The code works in this browser only: else a link with it would sign somebody else in to the
 * account of who made it. A failure is shown by that page, too.
 */
function addCallback(api: Api, options: SignInRoutes): void {
  const { db, log, key, provider, trustedProxies, counted } = options
  addRoute(api, {
    method: "get",
    path: callbackPath,
    summary: "Where the OIDC provider sends the browser back to.",
    responses: { 303: { description: "to the sign-in page, with a one-time code or the code of a problem" } },
    handle: async ({ c }) => {
      const now = new Date()
      const begun = attemptIn(key, c.req.header("cookie"), now)
      const { isSecure } = askedPage(c, trustedProxies)
      c.header("set-cookie", clearedAttempt(isSecure))
      c.header("cache-control", "no-store")
      c.header("referrer-policy", "no-referrer")
      try {
        const { code, browser, hasNewRights } = await counted(c, async () => {
          if (!provider || !begun) {
            throw new Unauthenticated("this browser has begun no sign-in in the last ten minutes", "sign_in_failed")
          }
          const identity = await provider.finish(begun, new URL(c.req.url).search).catch((err: unknown) => {
            log.warn({ err }, "a sign-in by the OIDC provider failed")
            throw new Unauthenticated(`${provider.name} did not sign you in`, "sign_in_failed")
          })
          const request = requestOf(c, trustedProxies)
          const { groupRoles } = provider
          return signInIdentified(db, { identity, groupRoles, invitation: begun.invitation, request })
        })
        if (hasNewRights) await publish(options)
        c.header("set-cookie", returnedCookie(browser, isSecure), { append: true })
        return c.redirect(`/sign-in${nextOf(begun?.next)}#code=${code}`, 303)
      } catch (error) {
        if (!(error instanceof KnownError)) throw error
        log.info({ code: error.code }, "a sign-in was refused")
        return c.redirect(`/sign-in#problem=${error.code}`, 303)
      }
    },
  })
}

/** The page itself follows only paths of the console. */
const nextOf = (next: string | undefined): string => (next === undefined ? "" : `?next=${encodeURIComponent(next)}`)

function addLink(api: Api, options: SignInRoutes): void {
  const { db, log, provider, trustedProxies, counted, consoleOrigins } = options
  addRoute(api, {
    method: "post",
    path: "/v2/console/invitation",
    summary:
      "Accepts an invitation where no OIDC provider is set: the reply sets a cookie for the new member's session.",
    body: linkBody,
    responses: {
      201: { description: "the session", schema: sessionReply },
      401: { description: "the invitation is used, withdrawn or expired (`invitation_invalid`)" },
      403: { description: "a page of another origin sends the request (`cross_site`)" },
      409: { description: "people sign in by the provider (`provider_required`)" },
    },
    handle: async ({ c, body }) => {
      const page = askedPage(c, trustedProxies)
      requireOwnOrigin(consoleOrigins, page.origin)
      if (provider) {
        throw new Conflict(
          `people sign in with ${provider.name}: open the link of the invitation in a browser`,
          "provider_required",
        )
      }
      const { joined, ...opened } = await counted(c, () =>
        signInByLink(db, {
          token: body.invitation,
          name: body.name,
          formerIds: sessionIdsOf(c.req.header("cookie")),
          request: requestOf(c, trustedProxies),
        }),
      )
      log.info({ actor: actorText(opened.session.actor), workspace_id: joined }, "invitation accepted")
      await publish(options)
      return sendNewSession(c, opened, page.isSecure)
    },
  })
}

/** So that the person's first request at an agent meets an edge that knows them. */
const publish = ({ publishRoutes, log }: SignInRoutes): Promise<void> =>
  publishRoutes().catch((err: unknown) =>
    log.warn({ err }, "the edge did not take the rights of members; it is tried again in the background"),
  )

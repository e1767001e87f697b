/** HTTP for signing in to the console and out of it. */

import type { BlockList } from "node:net"
import type { Database } from "@superstep/toolkit/db/database"
import { Forbidden, Unauthenticated } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import type { Context } from "hono"
import { actorText } from "../audit/audit-entry.js"
import { askedPage } from "../http/asked-page.js"
import { callerAddress } from "../http/caller-address.js"
import type { CountFailures } from "../http/count-failures.js"
import {
  createCode,
  endSessions,
  findSession,
  type OpenedSession,
  openSession,
  type SignInRequest,
} from "./operations.js"
import { requireOwnOrigin, requireOwnPage } from "./own-origins.js"
import { codeReply, proofOf, renderSession, sessionReply, signInBody } from "./schema.js"
import { clearedCookie, oneSessionId, returnedIn, sessionCookie, sessionIdsOf } from "./session.js"

export interface SessionRoutes {
  readonly db: Database
  readonly log: Log
  readonly trustedProxies: BlockList
  readonly counted: CountFailures
  readonly consoleOrigins: readonly string[]
}

/** Before the check of the caller: a session of an installation's key names no workspace, and a person who signs in has no session yet. */
export function addSessionRoutes(api: Api, options: SessionRoutes): void {
  addSignIn(api, options)
  addShow(api, options)
  addSignOut(api, options)
}

function addSignIn(api: Api, options: SessionRoutes): void {
  const { db, log, trustedProxies, counted, consoleOrigins } = options
  addRoute(api, {
    method: "post",
    path: "/v2/console/sessions",
    summary: "Signs in to the console: the reply sets a cookie that stands for the API key.",
    body: signInBody,
    responses: {
      201: { description: "the session", schema: sessionReply },
      401: { description: "the code is wrong, used or expired (`code_invalid`), or the API key is not valid" },
      403: { description: "a page of another origin sends the request (`cross_site`)" },
      422: { description: "the body is malformed" },
    },
    handle: async ({ c, body }) => {
      const page = askedPage(c, trustedProxies)
      requireOwnOrigin(consoleOrigins, page.origin)
      const request = requestOf(c, trustedProxies)
      const cookies = c.req.header("cookie")
      const [formerIds, proof] = [sessionIdsOf(cookies), proofOf(body, returnedIn(cookies))]
      const { id, session } = await counted(c, () => openSession(db, { proof, formerIds, request }))
      log.info({ actor: actorText(session.actor), ip: request.ip }, "signed in to the console")
      return sendNewSession(c, { id, session }, page.isSecure)
    },
  })
}

/** @param isSecure  the browser uses HTTPS */
export function sendNewSession(c: Context, { id, session }: OpenedSession, isSecure: boolean) {
  c.header("set-cookie", sessionCookie(id, isSecure))
  c.header("cache-control", "no-store")
  return c.json(renderSession(session), 201)
}

function addShow(api: Api, { db, trustedProxies, consoleOrigins }: SessionRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/console/session",
    summary: "The session of the console that the request's cookie names.",
    responses: {
      200: { description: "the session", schema: sessionReply },
      401: { description: "there is none, or it has ended" },
    },
    handle: async ({ c }) => {
      const id = oneSessionId(c.req.header("cookie"))
      if (id === undefined) throw new Unauthenticated("not signed in to the console")
      requireOwnPage(consoleOrigins, askedPage(c, trustedProxies))
      c.header("cache-control", "no-store")
      return c.json(renderSession(await findSession(db, id)))
    },
  })
}

function addSignOut(api: Api, { db, log, trustedProxies, consoleOrigins }: SessionRoutes): void {
  addRoute(api, {
    method: "delete",
    path: "/v2/console/session",
    summary: "Signs out of the console: the session ends at once.",
    responses: { 204: { description: "signed out, or not signed in" } },
    handle: async ({ c }) => {
      const page = askedPage(c, trustedProxies)
      const ids = sessionIdsOf(c.req.header("cookie"))
      if (ids.length > 0) requireOwnPage(consoleOrigins, page)
      const request = requestOf(c, trustedProxies)
      for (const { actor } of await endSessions(db, ids, request)) {
        log.info({ actor: actorText(actor), ip: request.ip }, "signed out of the console")
      }
      c.header("set-cookie", clearedCookie(page.isSecure))
      return c.body(null, 204)
    },
  })
}

/** @param publicUrl  the address that people use, if it differs from the one that the caller uses */
export function addCodeRoute(
  api: Api,
  { db, publicUrl }: { readonly db: Database; readonly publicUrl?: string | undefined },
): void {
  addRoute(api, {
    method: "post",
    path: "/v2/console/codes",
    summary: "Creates a one-time code to sign in to the console with the rights of the caller's API key.",
    responses: {
      201: { description: "the code", schema: codeReply },
      403: { description: "the caller is a person (`key_required`), or the key lacks the scope" },
    },
    handle: async ({ c }) => {
      const { actor, workspaceId } = c.get("caller")
      if ("personId" in actor) {
        throw new Forbidden("only an API key makes sign-in codes: people sign in themselves", "key_required")
      }
      const { code, expiresAt } = await db.transaction((tx) =>
        createCode(tx, { apiKeyId: actor.apiKeyId }, workspaceId),
      )
      const base = (publicUrl && withoutEnd(publicUrl, "/")) ?? new URL(c.req.url).origin
      c.header("cache-control", "no-store")
      return c.json({ code, url: `${base}/sign-in#code=${code}`, expires_at: expiresAt }, 201)
    },
  })
}

const mostOfUserAgent = 300

export const requestOf = (c: Context, proxies: BlockList): SignInRequest => ({
  path: c.req.path,
  ip: callerAddress(c, proxies),
  userAgent: c.req.header("user-agent")?.replaceAll("\0", "").slice(0, mostOfUserAgent),
  requestId: c.get("requestId"),
  tenantId: c.req.header("x-tenant-id"),
})

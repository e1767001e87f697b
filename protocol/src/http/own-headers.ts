/**
 * Headers that Superstep's own processes send to each other. Any client can send them too, so each server removes them from
 * every request before other code sees it, and checks their values.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"

/** @param name  in lower case */
export const isOwnHeader = (name: string): boolean => name.startsWith("x-superstep-")

/** The credential of the edge and the control plane for an agent server (protocol/unit). */
export const unitHeader = "x-superstep-unit"

/**
 * Set to `1` by the edge: the caller has a token of the console, of a session that may run agents (decision 63). It counts only beside
 * the unit's credential.
 */
export const consoleHeader = "x-superstep-console"

/** Set by the edge: the person whose session sent the request (`person.ts`). It counts only beside the unit's credential (decision 94). */
export const personHeader = "x-superstep-person"

/**
 * In place of `unitHeader`, for a person who may run the agent but not answer what it asks. A server of a release before it knows no such
 * credential, and refuses the request.
 */
export const noApprovalUnitHeader = "x-superstep-unit-no-approval"

/** The credential of a project's own code for its server's own socket. */
export const credentialHeader = "x-superstep-credential"

/** Identifies the request that the server has passed to the app, when the app passes it on. */
export const ticketHeader = "x-superstep-ticket"

/** The caller, for the app: a user as JSON, percent-encoded, since headers must be ASCII and names need not be. */
export const userHeader = "x-superstep-user"

export type OwnHeaders = ReadonlyMap<string, string>

/** Removes our own headers from a request. Call it before other code reads the headers. @returns  the removed ones by name */
export function takeOwnHeaders(incoming: IncomingMessage): OwnHeaders {
  const taken = new Map<string, string>()
  const { rawHeaders } = incoming
  if (!rawHeaders.some((name, at) => at % 2 === 0 && isOwnHeader(name.toLowerCase()))) return taken
  // Node builds both from the raw headers when they are first read, so read them before `rawHeaders` changes.
  const { headers, headersDistinct } = incoming
  for (const [name, value] of Object.entries(headers)) {
    if (!isOwnHeader(name)) continue
    // Node joins the values of a repeated header, and the result is not a valid credential.
    taken.set(name, String(value))
    delete headers[name]
    delete headersDistinct[name]
  }
  incoming.rawHeaders = rawHeaders.filter((_, at) => !isOwnHeader((rawHeaders[at - (at % 2)] ?? "").toLowerCase()))
  return taken
}

/** Compares a credential in constant time. @param shown  undefined never matches */
export function isCredential(shown: string | undefined, expected: string): boolean {
  if (shown === undefined) return false
  const [one, other] = [Buffer.from(shown), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Makes a ticket, which only a holder of the credential can do. The app answers only requests with a ticket. */
export const signTicket = (id: string, credential: string): string =>
  `${id}.${createHmac("sha256", credential).update(id).digest("base64url")}`

/** Whether the server has issued this ticket. Only the server knows whether it is still valid. */
export const isSignedTicket = (ticket: string | undefined, credential: string): ticket is string =>
  isCredential(ticket, signTicket(ticket?.split(".")[0] ?? "", credential))

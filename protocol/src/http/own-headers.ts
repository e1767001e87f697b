/**
 * Headers that Superstep's own processes send to each other. Anybody can send them, so each server removes them from every
 * request before other code sees it, and checks what they hold.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"

/** @param name  in lower case */
export const isOwnHeader = (name: string): boolean => name.startsWith("x-superstep-")

/** Credential of the edge and of the control plane at an agent server (protocol/unit). */
export const unitHeader = "x-superstep-unit"

/** Credential of a project's own code at its server's own socket. */
export const credentialHeader = "x-superstep-credential"

/** Names the request of the world that the server has given to the app, and that the app passes on. */
export const ticketHeader = "x-superstep-ticket"

/** Who calls, for the app: a user as JSON, percent-encoded, since a header is ASCII and names are not. */
export const userHeader = "x-superstep-user"

export type OwnHeaders = ReadonlyMap<string, string>

/** Removes our own headers from a request. Call it before anything else reads its headers. @returns  them by name */
export function takeOwnHeaders(incoming: IncomingMessage): OwnHeaders {
  const taken = new Map<string, string>()
  const { rawHeaders } = incoming
  if (!rawHeaders.some((name, at) => at % 2 === 0 && isOwnHeader(name.toLowerCase()))) return taken
  // Node makes both from the raw ones when they are first read, and by the number that there was.
  const { headers, headersDistinct } = incoming
  for (const [name, value] of Object.entries(headers)) {
    if (!isOwnHeader(name)) continue
    // Node joins the values of a header that is sent twice, and the result is no valid credential.
    taken.set(name, String(value))
    delete headers[name]
    delete headersDistinct[name]
  }
  incoming.rawHeaders = rawHeaders.filter((_, at) => !isOwnHeader((rawHeaders[at - (at % 2)] ?? "").toLowerCase()))
  return taken
}

/** Compares a credential in constant time. @param shown  undefined is wrong */
export function isCredential(shown: string | undefined, expected: string): boolean {
  if (shown === undefined) return false
  const [one, other] = [Buffer.from(shown), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** A ticket that only a holder of the credential can issue. The app answers only requests that show one. */
export const signTicket = (id: string, credential: string): string =>
  `${id}.${createHmac("sha256", credential).update(id).digest("base64url")}`

/** Whether the server has issued this ticket; whether it is still good is for the server to say. */
export const isSignedTicket = (ticket: string | undefined, credential: string): ticket is string =>
  isCredential(ticket, signTicket(ticket?.split(".")[0] ?? "", credential))

/** Defines sessions and one-time codes of the console. Pure, apart from the randomness of a new secret. */
import { createHash, randomBytes } from "node:crypto"
import { sessionCookieName, sessionIdIn } from "@superstep/protocol/http/session-cookie"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"

/** A session that is not used for this long has ended. */
export const idleHours = 12
/** It ends after this time, however often it is used. */
export const mostDays = 7
export const codeMinutes = 10

/** A session id or a one-time code. */
export interface NewSecret {
  /** Shown once; only its hash is stored. */
  readonly clear: string
  readonly sha256: string
}

/** 256 random bits: they cannot be guessed, so a plain hash is enough. */
export function newSecret(): NewSecret {
  const clear = randomBytes(32).toString("base64url")
  return { clear, sha256: secretHash(clear) }
}

export const secretHash = (clear: string): string => createHash("sha256").update(clear).digest("hex")

/**
 * The ids in a request's cookies. There are several when somebody else has set a cookie of this name: cookies do not
 * distinguish ports, so a page of an agent on the same host can (C4).
 */
export const sessionIdsOf = (cookieHeader: string | undefined): readonly string[] =>
  (cookieHeader ?? "")
    .split(";")
    .map(sessionIdIn)
    .filter((id) => id !== undefined)

/** @throws Unauthenticated  there are several, so one is not of our making (C4) */
export function oneSessionId(cookieHeader: string | undefined): string | undefined {
  const [id, ...others] = sessionIdsOf(cookieHeader)
  if (others.length > 0) {
    throw new Unauthenticated(
      `the request has more than one cookie ${sessionCookieName}: another page of this host has set one, so remove the host's cookies`,
    )
  }
  return id === "" ? undefined : id
}

const attributes = "Path=/; HttpOnly; SameSite=Strict"

/** A cookie of the browser's session: the server decides when it ends. @param isSecure  the page is served by https */
export const sessionCookie = (id: string, isSecure: boolean): string =>
  `${sessionCookieName}=${id}; ${attributes}${isSecure ? "; Secure" : ""}`

const returnedName = "superstep_returned"

/** Without it, the code of a browser that has returned from the provider is worth nothing. @param isSecure  the page is served by https */
export const returnedCookie = (secret: string, isSecure: boolean): string =>
  `${returnedName}=${secret}; Path=/v2/console/sessions; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}; Max-Age=${codeMinutes * 60}`

/** What a request's cookies say of a return from the provider; undefined when there is none, or one is not of our making (C4). */
export function returnedIn(cookieHeader: string | undefined): string | undefined {
  const found = (cookieHeader ?? "").split(";").filter((pair) => pair.trim().startsWith(`${returnedName}=`))
  return found.length === 1 ? found[0]?.trim().slice(returnedName.length + 1) : undefined
}

/** The hash of a code that works only together with the secret of its browser. */
export const boundHash = (code: string, browser: string): string => secretHash(`${code} ${browser}`)

/** Makes a browser forget the cookie. */
export const clearedCookie = (isSecure: boolean): string => `${sessionCookie("", isSecure)}; Max-Age=0`

/** The cookie of the console's session: the control plane sets and reads it, and the edge lets it pass in neither direction. Pure. */

export const sessionCookieName = "superstep_session"

/**
 * The value of the session's cookie in a text `name=value`: a part of `Cookie`, or the start of `Set-Cookie`. Read as browsers read it
 * (RFC 6265 §5.2): spaces and tabs around name and value do not count, and upper case is another name. A browser sends `=name=value`, a
 * cookie without a name, as `name=value`, so that counts too.
 * @returns  undefined for every other cookie
 */
export function sessionIdIn(cookie: string): string | undefined {
  const [pair = ""] = cookie.replace(/^[\s=]+/, "").split(";")
  const at = pair.indexOf("=")
  return at >= 0 && pair.slice(0, at).trim() === sessionCookieName ? pair.slice(at + 1).trim() : undefined
}

/** Whether a text `name=value` is the session's cookie, whatever its value. */
export const isSessionCookie = (cookie: string): boolean => sessionIdIn(cookie) !== undefined

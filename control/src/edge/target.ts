/** Reads where a request wants to go. Pure: the text is cut, never decoded, so a unit gets the bytes the caller sent. */

export interface Target {
  readonly name: string
  /** `/d/<name>`: what a client calls the root of the agent's API. */
  readonly prefix: string
  /** Path and query below the prefix; begins with exactly one slash. */
  readonly path: string
}

/** @returns undefined when the request is not below `/d/<name>` */
export function parseTarget(url: string): Target | undefined {
  const [, name, path = "", query = ""] = /^\/d\/([^/?]+)([^?]*)(\?.*)?$/.exec(originForm(url)) ?? []
  if (name === undefined) return undefined
  // A base URL that ends with a slash makes clients send two. A unit must never see a path that begins with `//`,
  // since a URL parser may read a host there.
  return { name, prefix: `/d/${name}`, path: `/${path.replace(/^\/+/, "")}${query}` }
}

// A client that takes us for its forward proxy sends `GET http://host/path` (RFC 9112 §3.2.2 asks servers to accept it).
const originForm = (url: string): string => url.replace(/^https?:\/\/[^/?]*/i, "")

/** `.` and `..`, also written as `%2e`: every client resolves them before it sends, so one that did not is up to something. */
export const hasDotSegment = (path: string): boolean => /[/\\](?:\.|%2e){1,2}(?=[/\\?]|$)/i.test(withoutQuery(path))

/**
 * Tells whether a path is the control plane's own (protocol/unit, "Requests of the control plane"). The edge puts the
 * unit's token on every request, so without this any caller could activate a revision.
 */
export function isInternal(path: string): boolean {
  // A unit's router decodes the path once and may ignore case and repeated or backward slashes: so does this look.
  const decoded = withoutQuery(path).replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return decoded.split(/[/\\]+/)[1]?.toLowerCase() === "internal"
}

/** The one path that needs no key: a health check says nothing about anybody. */
export const isHealthCheck = (method: string, path: string): boolean =>
  (method === "GET" || method === "HEAD") && withoutQuery(path) === "/ok"

/** The query of a path, decoded. */
export const urlQuery = (path: string): URLSearchParams => new URLSearchParams(path.replace(/^[^?]*/s, ""))

export const withoutQuery = (path: string): string => path.replace(/\?.*$/s, "")

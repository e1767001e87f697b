/** Parses the target of a request. Pure: the text is cut, never decoded, so a unit gets the bytes the caller sent. */

export interface Target {
  readonly name: string
  /** `/d/<name>`, or nothing at a host name of the deployment: the root of the agent's API for a client. */
  readonly prefix: string
  /** Path and query below the prefix; starts with exactly one slash. */
  readonly path: string
}

/** @returns  undefined when the request is not below `/d/<name>` */
export function parseTarget(url: string): Target | undefined {
  const [, name, path = "", query = ""] = /^\/d\/([^/?]+)([^?]*)(\?.*)?$/.exec(originForm(url)) ?? []
  if (name === undefined) return undefined
  return { name, prefix: `/d/${name}`, path: fromRoot(path, query) }
}

/** The target of a request for a host name, which belongs to one route entirely. @returns  undefined for `OPTIONS *` */
export function targetAtHost(url: string, name: string): Target | undefined {
  const [, path, query = ""] = /^((?:\/[^?]*)?)(\?.*)?$/.exec(originForm(url)) ?? []
  return path === undefined ? undefined : { name, prefix: "", path: fromRoot(path, query) }
}

// Clients whose base URL ends with a slash send two. A unit must never see a path that starts with `//`, since a URL parser
// may read a host there.
const fromRoot = (path: string, query: string): string => `/${path.replace(/^\/+/, "")}${query}`

/**
 * The host that a request is for, in the form of the table: lower case, without port and without the dot at the end. That of a
 * target in absolute form counts more than the header (RFC 9112 §3.2.2).
 */
export function hostOf(url: string, header = ""): string {
  const authority = /^https?:\/\/([^/?]*)/i.exec(url)?.[1] ?? header
  return authority.replace(/^.*@/, "").replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase()
}

// A client that uses us as a forward proxy sends `GET http://host/path` (RFC 9112 §3.2.2 asks servers to accept it).
export const originForm = (url: string): string => url.replace(/^https?:\/\/[^/?]*/i, "")

/** Finds `.` and `..` segments, also as `%2e`. Every client resolves them before it sends, so one that did not is suspect. */
export const hasDotSegment = (path: string): boolean => /[/\\](?:\.|%2e){1,2}(?=[/\\?]|$)/i.test(withoutQuery(path))

/**
 * Returns whether a path is reserved for the control plane (protocol/unit, "Requests of the control plane"). The edge puts
 * the unit's token on every request, so without this check any caller could activate a revision.
 */
export function isInternal(path: string): boolean {
  // A unit's router decodes the path once and may ignore case and repeated or backward slashes, so this check does too.
  const decoded = withoutQuery(path).replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return decoded.split(/[/\\]+/)[1]?.toLowerCase() === "internal"
}

/** The thread that a request is about: the id in `/threads/<uuid>/…`. */
export const threadOf = (path: string): string | undefined =>
  /^\/threads\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=[/?]|$)/i.exec(path)?.[1]?.toLowerCase()

/** The one path that needs no key: a health check reveals nothing. */
export const isHealthCheck = (method: string, path: string): boolean =>
  (method === "GET" || method === "HEAD") && withoutQuery(path) === "/ok"

/** The query of a path, decoded. */
export const urlQuery = (path: string): URLSearchParams => new URLSearchParams(path.replace(/^[^?]*/s, ""))

export const withoutQuery = (path: string): string => path.replace(/\?.*$/s, "")

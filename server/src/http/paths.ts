/**
 * The path that routes see. It is computed in one place, so that the router, `disabled.ts` and every other reader of
 * `c.req.path` treat different spellings of a path alike. Pure.
 */
import { getPathNoStrict } from "hono/utils/url"

/** Paths for the control plane only. The edge blocks exactly these paths for everybody else. */
const isInternal = (path: string): boolean => path.startsWith("/internal/")

/** Paths that supervisors request, which no prefix applies to (agent-server-api §1.1). */
const isAtRoot = (path: string): boolean => path === "/ok" || isInternal(path)

// No route starts with this, so paths outside of the prefix match no route.
const noRoute = "/./"

/**
 * The path without percent escapes (except `%2F`: a slash within a segment is not a separator), without a trailing slash
 * and without the prefix under which the server is mounted.
 * @param prefix  `http.mount_prefix`: empty, or `/path`
 */
export const pathBelow =
  (prefix: string) =>
  (request: Request): string => {
    const path = getPathNoStrict(request)
    if (prefix === "" || isAtRoot(path)) return path
    if (path === prefix) return "/"
    const below = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined
    return below === undefined || isInternal(below) ? noRoute + path : below
  }

/** @param path  as routes see it */
export const isOutsideOfPrefix = (path: string): boolean => path.startsWith(noRoute)

/** The spelled path without the prefix, percent escapes and all, of a request that is not outside of it. */
export function spelledBelow(prefix: string, pathname: string): string {
  // The prefix may be spelled with percent escapes too, but its number of segments stays.
  const below = pathname.split("/").slice(prefix.split("/").length)
  return `/${below.join("/")}`
}

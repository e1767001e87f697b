/**
 * Which path the routes see. One place decides it, so that a path which is spelt in another way is the same to the
 * router, to what is disabled and to whatever else reads `c.req.path`. Pure.
 */
import { getPathNoStrict } from "hono/utils/url"

/** What only the control plane asks for: its path is the plain one, and the edge lets nobody else ask for that. */
const isInternal = (path: string): boolean => path.startsWith("/internal/")

/** What a supervisor asks for by the plain path, wherever the routes are mounted (agent-server-api §1.1). */
const staysAtTheRoot = (path: string): boolean => path === "/ok" || isInternal(path)

// No route begins like this: what lies beside the prefix is found by none.
const beside = "/./"

/**
 * The path without its escapes (`%2F` stays as it is: within a segment a slash is no separator), without a slash at its
 * end and without the prefix below which the server is mounted.
 * @param prefix  `http.mount_prefix`: empty, or `/path`
 */
export const pathBelow =
  (prefix: string) =>
  (request: Request): string => {
    const path = getPathNoStrict(request)
    if (prefix === "" || staysAtTheRoot(path)) return path
    if (path === prefix) return "/"
    const below = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined
    return below === undefined || isInternal(below) ? beside + path : below
  }

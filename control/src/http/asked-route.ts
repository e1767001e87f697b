/** Finds the route of a request, before its handler runs. */
import type { Context } from "hono"
import { matchedRoutes } from "hono/route"

export interface AskedRoute {
  readonly method: string
  /** The pattern in OpenAPI's form and without `/api-host`: `/v2/deployments/{deployment_id}`. */
  readonly path: string
  readonly params: Readonly<Record<string, string>>
}

/** @returns  undefined when there is no route: the request ends in a 404 or 405 */
export function askedRoute(c: Context): AskedRoute | undefined {
  // Hono answers HEAD with the route of GET.
  const wanted = c.req.method === "HEAD" ? "GET" : c.req.method
  const handler = matchedRoutes(c).findLast(({ method }) => method === wanted)
  if (!handler) return undefined
  const pattern = handler.path.split("/")
  const asked = c.req.path.split("/")
  const params = pattern.flatMap((part, index) =>
    part.startsWith(":") ? [[part.slice(1), asked[index] ?? ""] as const] : [],
  )
  return { method: handler.method, path: openApiPath(handler.path), params: Object.fromEntries(params) }
}

const openApiPath = (path: string): string => path.replace(/^\/api-host(?=\/)/, "").replaceAll(/:(\w+)/g, "{$1}")

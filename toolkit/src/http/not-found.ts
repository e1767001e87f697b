/** Answers requests without a route: 405 when another method has a route there, else 404. */
import type { Context, Hono, NotFoundHandler } from "hono"
import { errorBody } from "./error-body.js"

/** Turns a router's pattern (`/v2/deployments/:deployment_id`) into a test for paths. */
function matcher(pattern: string): RegExp {
  const parts = pattern.split("/").map((part) => (part.startsWith(":") ? "[^/]+" : escapeRegExp(part)))
  return new RegExp(`^${parts.join("/")}$`)
}

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** @param app  with all its routes; middleware (method ALL) answers nothing and is left out */
export function notFound(app: Pick<Hono, "routes">): NotFoundHandler {
  const routes = app.routes
    .filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => ({ method, test: matcher(path) }))
  return (c: Context) => {
    const requestId = c.get("requestId")
    const methods = [...new Set(routes.filter(({ test }) => test.test(c.req.path)).map(({ method }) => method))].sort()
    if (methods.length === 0) return c.json(errorBody("Not Found", "not_found", requestId), 404)
    const allow = methods.includes("GET") ? [...methods, "HEAD"] : methods
    return c.json(errorBody("Method Not Allowed", "method_not_allowed", requestId), 405, {
      allow: allow.join(", "),
    })
  }
}

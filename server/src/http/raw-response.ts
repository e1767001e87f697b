/** The app's `fetch` for a Node server. */
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response"
import type { Api } from "@superstep/toolkit/http/route"
import { type FromListener, outsideOrigin } from "./origin.js"

/**
 * The `fetch` of an app for a Node server. Without an origin from its listener, a request counts as coming from the public
 * network. Streams write their reply directly to the socket and return a marker response. Middleware that sets headers
 * makes Hono copy this marker. The adapter (2.1.8) would treat the copy as an empty reply and write headers a second time,
 * so this function returns the original marker.
 */
export const fetchOf =
  (app: Api) =>
  async (request: Request, env: never): Promise<Response> => {
    const { incoming, origin = outsideOrigin(incoming) } = env as FromListener
    const response = await app.fetch(request, { ...(env as object), origin })
    return response.headers.has("x-hono-already-sent") ? RESPONSE_ALREADY_SENT : response
  }

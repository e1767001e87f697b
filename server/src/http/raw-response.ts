/** Replies that were written to the socket by hand, as streams are. */
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response"
import type { Api } from "@superstep/toolkit/http/route"

/**
 * An app's `fetch` for a Node server. Middleware that sets headers makes Hono copy the marker response; the adapter
 * (2.1.8) then takes the copy for an empty reply and writes headers a second time. The marker itself it understands.
 */
export const fetchOf =
  (app: Api) =>
  async (request: Request, env: never): Promise<Response> => {
    const response = await app.fetch(request, env)
    return response.headers.has("x-hono-already-sent") ? RESPONSE_ALREADY_SENT : response
  }

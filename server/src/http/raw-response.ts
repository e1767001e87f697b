/** The app as a Node server calls it. */
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response"
import type { Api } from "@superstep/toolkit/http/route"
import { type FromListener, fromWorld } from "../gate/origin.js"

/**
 * An app's `fetch` for a Node server. A request whose listener does not tell its origin comes from the world. Replies may have
 * been written to the socket by hand, as streams are. Middleware that sets headers makes Hono copy the marker response; the adapter
 * (2.1.8) then takes the copy for an empty reply and writes headers a second time. The marker itself it understands.
 */
export const fetchOf =
  (app: Api) =>
  async (request: Request, env: never): Promise<Response> => {
    const { incoming, origin = fromWorld(incoming) } = env as FromListener
    const response = await app.fetch(request, { ...(env as object), origin })
    return response.headers.has("x-hono-already-sent") ? RESPONSE_ALREADY_SENT : response
  }

/** Routes of the newer streaming protocol, which is not implemented. The reply names the route to use instead. */
import { NotFound } from "@superstep/toolkit/errors/errors"
import type { Hono } from "hono"

/** The equivalent route here, by the path below a thread. */
const insteadOf = {
  commands: "POST /threads/{thread_id}/runs/stream (`client.runs.stream`, `command` answers an interrupt)",
  "stream/events": "GET /threads/{thread_id}/stream (`client.threads.joinStream`)",
} as const

/** Not part of the OpenAPI document, because the routes only reply 404. */
export function addNewerProtocolRoutes(app: Pick<Hono, "all">): void {
  for (const [path, instead] of Object.entries(insteadOf)) {
    app.all(`/threads/:thread_id/${path}`, () => {
      throw new NotFound(
        `/threads/{thread_id}/${path} is part of the newer streaming protocol, which is not implemented: use ${instead}`,
      )
    })
  }
}

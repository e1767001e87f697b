/** Routes of the newer streaming protocol, which is not built yet: clients that ask for them are told what to use. */
import { NotFound } from "@superstep/toolkit/errors/errors"
import type { Hono } from "hono"

/** By the path below a thread, what does the same here. */
const insteadOf = {
  commands: "POST /threads/{thread_id}/runs/stream (`client.runs.stream`, `command` answers an interrupt)",
  "stream/events": "GET /threads/{thread_id}/stream (`client.threads.joinStream`)",
} as const

/** Not part of the OpenAPI document: there is nothing to call. */
export function addNewerProtocolRoutes(app: Pick<Hono, "all">): void {
  for (const [path, instead] of Object.entries(insteadOf)) {
    app.all(`/threads/:thread_id/${path}`, () => {
      throw new NotFound(
        `/threads/{thread_id}/${path} is the newer streaming protocol, which is not built yet: use ${instead}`,
      )
    })
  }
}

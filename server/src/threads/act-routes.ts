/** The route for what people did to a thread: who started its runs, who answered, who changed its state. */
import type { Database } from "@superstep/toolkit/db/database"
import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { actsOf } from "../acts/queries.js"
import { callerOf } from "../http/caller-of.js"
import { pageQueryFields } from "../http/pagination.js"
import { getThread } from "./operations.js"
import { missing, tags } from "./routes.js"
import { threadParams } from "./schema.js"

export const person = z
  .object({ person_id: z.string(), name: z.string(), email: z.string() })
  .meta({ id: "Person", description: "A person with an account of the control plane, as they were named then." })

const act = z
  .object({
    acted_at: z.string(),
    kind: z.enum(["run", "answer", "edit"]).meta({
      description:
        "run: started a run with an input. answer: started one that answers an interrupt, or goes on from where the thread stopped. edit: changed the state.",
    }),
    person,
    run_id: z.string().nullable().meta({ description: "The run that was started; null for an edit." }),
    changed: z.array(z.string()).nullable().meta({ description: "Names of the values that an edit gave." }),
    checkpoint_id: z.string().nullable().meta({ description: "The checkpoint that an edit made; null for a run." }),
  })
  .meta({ id: "PersonAct" })

export function addThreadActRoute(api: Api, { db }: { readonly db: Database }): void {
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/acts",
    summary: "List what people did to a thread",
    tags,
    params: threadParams,
    query: z.object(pageQueryFields),
    responses: {
      200: {
        description: "The acts, newest first; those of machines with a key are not among them",
        schema: z.array(act),
      },
      ...missing,
    },
    handle: async ({ c, params, query }) => {
      await getThread(db, callerOf(c), params.thread_id)
      const acts = await actsOf(db, params.thread_id, query)
      // The thread may have been deleted after it was found.
      if (acts.length === 0) await getThread(db, callerOf(c), params.thread_id)
      return jsonResponse(acts)
    },
  })
}

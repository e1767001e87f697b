/** What people have answered to the questions of a thread. An extension of Superstep. */
import type { Database } from "@superstep/toolkit/db/database"
import { jsonResponse, RawJson, rawJson } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { callerOf } from "../http/caller-of.js"
import { pageHeaders, pageQueryFields } from "../http/pagination.js"
import { person } from "./act-routes.js"
import { findAnswers } from "./answer-queries.js"
import { getThread } from "./operations.js"
import { missing, tags } from "./routes.js"
import { threadParams } from "./schema.js"

const answer = z
  .object({
    run_id: z.string().describe("The run that brought the answer"),
    interrupts: z.record(z.string(), z.array(z.unknown())).describe("The open questions, by the ids of their tasks"),
    resume: z.unknown().describe("The answer, or answers by the ids of interrupts: the run's command.resume"),
    answered_at: z.string(),
    user_id: z.string().nullable().describe("The `identity` of the caller that answered"),
    person: person.nullable().describe("The person who answered in the console; null for a caller with a key"),
    status: z.string().describe("How the run ended; error: the graph failed with the answer"),
  })
  .meta({ id: "ThreadAnswer" })

export function addThreadAnswersRoute(api: Api, { db }: { readonly db: Database }): void {
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/answers",
    summary: "List the answers to a thread's interrupts, each with what was asked; one is added at the end of its run",
    tags,
    params: threadParams,
    query: z.object(pageQueryFields),
    responses: {
      200: {
        description:
          "The answers, newest first. A page may have fewer than `limit`, since it ends after 1 MB; while more follow, X-Pagination-Next is the `offset` of the next page",
        schema: z.array(answer),
      },
      ...missing,
    },
    handle: async ({ c, params: { thread_id: threadId }, query }) => {
      await getThread(db, callerOf(c), threadId)
      const { answers, total } = await findAnswers(db, threadId, query)
      // The thread may have been deleted after it was found.
      if (total === 0) await getThread(db, callerOf(c), threadId)
      const page = answers.map(({ interrupts, resume, person: who, ...others }) => ({
        ...others,
        interrupts: new RawJson(interrupts),
        resume: new RawJson(resume),
        person: rawJson(who),
      }))
      return jsonResponse(page, 200, pageHeaders({ ...query, limit: answers.length }, total))
    },
  })
}

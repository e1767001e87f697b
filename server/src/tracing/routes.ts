/** `GET /threads/{thread_id}/runs/{run_id}/trace`: what each part of a run did, and when. An extension of Superstep. */

import { setTimeout as sleep } from "node:timers/promises"
import type { Span } from "@superstep/protocol/worker/frames"
import { jsonResponse, parseJson } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { attemptOf } from "../events/event.js"
import { callerOf } from "../http/caller-of.js"
import { getRun } from "../runs/operations.js"
import type { Runs } from "../runs/parts.js"
import { runParams } from "../runs/schema.js"
import { findSpans, type SpanRow } from "./queries.js"
import type { SpanWriter } from "./span-writer.js"

// Many times what a round of statements takes.
const maxSettleMs = 2000

const query = z.object({
  after: z.coerce.number().int().min(-1).default(-1).describe("The id of the last span of the page before"),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  content: z
    .enum(["true", "false"])
    .default("true")
    .describe("false: without what went in and out, which is most of a trace"),
})

const time = z.string().nullable().describe("With microseconds, of the worker's clock")

const span = z
  .object({
    id: z.string().describe("Rises with the beginning of spans, over all attempts"),
    parent_id: z.string().nullable().describe("The span to which it belongs; null for the outermost one of an attempt"),
    span_id: z.string().describe("LangChain's id of the work; the id of a model's message contains it"),
    attempt: z.int(),
    kind: z.enum(["graph", "node", "model", "tool", "retriever", "chain"]),
    name: z.string(),
    namespace: z.string().describe("The path of its task, such as sub:<task>|inner:<task>"),
    status: z
      .enum(["running", "success", "interrupted", "cancelled", "error"])
      .describe("running: it executes, or its attempt was lost before it ended"),
    started_at: time,
    ended_at: time,
    first_token_at: time,
    error: z
      .object({ error: z.string(), message: z.string().describe("Empty with SUPERSTEP_TRACES=timings") })
      .nullable(),
    model: z
      .string()
      .nullable()
      .describe("The one that was asked, or, where LangChain does not tell it, the one that answered"),
    provider: z.string().nullable(),
    input_tokens: z.int().nullable(),
    output_tokens: z.int().nullable(),
    tool_call_id: z.string().nullable(),
    is_cut: z.boolean().describe("Whether input or output was too large; what is missing is marked in it"),
    left_out: z.int().describe("How many later spans of the attempt were left out, since it had too many"),
    input: z
      .unknown()
      .optional()
      .describe("A state, a prompt (a list of messages), a tool's arguments. Absent: not kept"),
    output: z
      .unknown()
      .optional()
      .describe("A state's update, a model's message, a tool's result. Absent: none, or not kept"),
  })
  .meta({ id: "TraceSpan" })

export interface TraceRoutes extends Pick<Runs, "db"> {
  readonly spans: Pick<SpanWriter, "settled">
}

export function addTraceRoutes(api: Api, options: TraceRoutes): void {
  const { db, spans } = options
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/runs/{run_id}/trace",
    summary: "List what the graphs, nodes, models and tools of a run did, with their times",
    tags: ["Runs"],
    params: runParams,
    query,
    responses: {
      200: {
        description:
          "The spans, in the order in which they began; none if traces are off, or the run is older than they are kept. A page may have fewer than `limit`, since it ends after 1 MB; while more follow, X-Pagination-Next is the `after` of the next page",
        schema: z.array(span),
      },
      404: { description: "No such run" },
      422: { description: "Invalid input" },
    },
    handle: async ({ c, params: { thread_id: threadId, run_id: runId }, query: { after, limit, content } }) => {
      const named = { caller: callerOf(c), threadId, runId }
      await getRun(options, named)
      // What this server has got, also of a run that has just ended. While the database cannot take it, what is there is read.
      await Promise.race([spans.settled(), sleep(maxSettleMs, undefined, { ref: false })])
      const page = await findSpans(db, runId, { after, limit, withContent: content === "true" })
      // The run may have been deleted after it was found.
      if (page.spans.length === 0) await getRun(options, named)
      const headers = page.isLast ? {} : { "x-pagination-next": String(page.spans.at(-1)?.seq) }
      return jsonResponse(page.spans.map(spanReply), 200, headers)
    },
  })
}

function spanReply({ seq, span: header, content }: SpanRow) {
  const span = parseJson(header) as Span
  const idOf = (number: number): string => String(seq - span.number + number)
  const { input, output } = content === "" ? {} : parseJson(content)
  return {
    id: String(seq),
    parent_id: span.parent === undefined ? null : idOf(span.parent),
    span_id: span.span_id,
    attempt: attemptOf(seq),
    kind: span.kind,
    name: span.name,
    namespace: span.namespace,
    status: span.status,
    started_at: isoTime(span.started_us),
    ended_at: isoTime(span.ended_us),
    first_token_at: isoTime(span.first_token_us),
    error: span.error ?? null,
    model: span.model ?? span.response_model ?? null,
    provider: span.provider ?? null,
    input_tokens: span.input_tokens ?? null,
    output_tokens: span.output_tokens ?? null,
    tool_call_id: span.tool_call_id ?? null,
    is_cut: span.is_cut === true,
    left_out: span.left_out ?? 0,
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
  }
}

/** ISO 8601 with microseconds. */
function isoTime(us: number | undefined): string | null {
  if (us === undefined) return null
  const ms = new Date(us / 1000).toISOString()
  return `${ms.slice(0, -1)}${String(us % 1000).padStart(3, "0")}Z`
}

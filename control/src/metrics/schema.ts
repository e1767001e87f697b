/** The format of requests for metrics and of their replies. */
import { z } from "@hono/zod-openapi"
import { optionalParameter } from "../http/fields.js"
import type { DeploymentMetrics } from "./operations.js"

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const [least, most] = [10_000, 7 * 86_400_000]

const window = z
  .string()
  .regex(/^\d{1,6}[smhd]$/, "expected a duration such as 15m, 6h or 1d")
  .transform((text) => Number(text.slice(0, -1)) * (unitMs[text.slice(-1)] ?? 0))
  .refine((ms) => ms >= least && ms <= most, "expected 10s to 7d")

export const metricsQuery = z.object({
  window: optionalParameter(window).openapi({ type: "string", default: "15m", example: "6h" }),
})

const nullableNumber = z.number().nullable()

const latency = z.object({ average: nullableNumber, p50: nullableNumber, p95: nullableNumber })

const activity = {
  requests: z.int(),
  errors: z.int().openapi({ description: "answers with a status of 500 or more" }),
  latency_ms: latency.openapi({ description: "until an answer begins" }),
  tokens: z.object({ input: z.int(), output: z.int() }).nullable().openapi({
    description:
      "of the models that runs called; null: not counted, since runs are not traced (SUPERSTEP_TRACES=off), or no replica ran",
  }),
  first_token_ms: latency.openapi({
    description: "from when a run could start to the first token of a model, of runs with a model that streams",
  }),
}

export const metricsReply = z
  .object({
    window_seconds: z.int(),
    step_seconds: z.int(),
    units: z.array(
      z.object({
        unit_id: z.string(),
        revision_id: z.string(),
        sampled_at: z.iso.datetime(),
        cpu_cores: z.number(),
        rss_bytes: z.int(),
        restarts: z.int(),
      }),
    ),
    revisions: z
      .array(
        z.object({
          revision_id: z.string(),
          ended: z.int().openapi({ description: "runs that ended in the window" }),
          failed: z.int().openapi({ description: "how many of them ended as error or timeout" }),
          error_rate: z.number(),
          latency_ms: latency.openapi({ description: "from when a run could start to its end" }),
        }),
      )
      .openapi({ description: "runs of each revision; one without a run is left out" }),
    total: z
      .object(activity)
      .openapi({ description: "what the edge answered, and what models used, in the whole window" }),
    points: z.array(
      z.object({
        at: z.iso.datetime().openapi({ description: "start of the time step" }),
        replicas: z.int(),
        cpu_cores: z.number(),
        rss_bytes: z.int(),
        restarts: z.int(),
        ...activity,
        ended_runs: z.int().openapi({ description: "runs that ended in the step" }),
        failed_runs: z.int().openapi({ description: "how many of them ended as error or timeout" }),
        pending_runs: z.int().nullable(),
        active_runs: z.int().nullable(),
      }),
    ),
  })
  .openapi("Metrics")

export const renderMetrics = ({ stepMs, points, total, units, revisions }: DeploymentMetrics, windowMs: number) => ({
  window_seconds: windowMs / 1000,
  step_seconds: stepMs / 1000,
  units: units.map((unit) => ({
    unit_id: unit.unit_id,
    revision_id: unit.revision_id,
    sampled_at: unit.at,
    cpu_cores: unit.cpu_cores,
    rss_bytes: unit.rss_bytes,
    restarts: unit.restarts,
  })),
  revisions,
  total,
  points,
})

/** What workers record of runs, and what is kept of it. Pure. */
import type { Span } from "@superstep/protocol/worker/frames"
import type { Claim } from "../runs/run.js"
import type { RunOrder } from "../workers/port.js"

/** `SUPERSTEP_TRACES`: nothing, when each piece of work began and ended, or also what went in and out. */
export const traceSettings = ["off", "timings", "full"] as const
export type TraceSetting = (typeof traceSettings)[number]

/** What a collector gets. */
export interface Exported {
  readonly hasContent: boolean
}

/**
 * What a run's worker records. The trace of a stateless run is not kept, so without a collector only its models are recorded, which count.
 * @param exported  undefined without a collector
 */
export const traceOf =
  (setting: TraceSetting, exported: Exported | undefined) =>
  ({ deletesThread }: Pick<Claim, "deletesThread">): RunOrder["trace"] => {
    if (setting === "off") return undefined
    if (!deletesThread) return setting
    if (exported === undefined) return "models"
    return exported.hasContent ? setting : "timings"
  }

/** A span as it is where prompts, arguments and results are not wanted: the message of an error may quote them, so its type is left. */
export const withoutMessage = (span: Span): Span =>
  span.error === undefined ? span : { ...span, error: { ...span.error, message: "" } }

/** The stages of a revision as steps with durations. Pure. */
import type { Revision } from "../platform/types.js"

export const stages = ["queue", "fetch", "build", "deploy", "switch", "verify"] as const

export interface Step {
  readonly name: (typeof stages)[number]
  readonly state: "waiting" | "running" | "done" | "failed"
  /** Undefined while it has not started. */
  readonly durationMs: number | undefined
}

/** The stage that the status names. Those of one status that ended already have a duration. */
const running: Readonly<Record<string, readonly (typeof stages)[number][]>> = {
  CREATING: ["queue"],
  QUEUED: ["queue"],
  AWAITING_BUILD: ["queue", "fetch"],
  BUILDING: ["fetch", "build"],
  AWAITING_DEPLOY: ["deploy"],
  DEPLOYING: ["deploy", "switch", "verify"],
}

/** @param now  the time for a stage that still runs, in milliseconds since 1970 */
export function stepsOf(
  {
    status,
    duration_ms_by_stage: durations,
    started_at,
  }: Pick<Revision, "status" | "duration_ms_by_stage" | "started_at">,
  now: number,
): Step[] {
  const last = stages.findLast((stage) => durations[stage] !== undefined)
  const isFailed = status.endsWith("_FAILED") || status === "INTERRUPTED"
  const current = running[status]?.find((stage) => durations[stage] === undefined)
  const past = Object.values(durations).reduce((sum, ms) => sum + ms, 0)
  return stages.map((name) => {
    const durationMs = durations[name]
    if (durationMs !== undefined)
      return { name, state: isFailed && name === last ? "failed" : "done", durationMs } as const
    if (name !== current) return { name, state: "waiting", durationMs: undefined } as const
    const since = started_at === null ? undefined : Math.max(0, now - Date.parse(started_at) - past)
    return { name, state: "running", durationMs: since } as const
  })
}

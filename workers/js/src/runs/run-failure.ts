/** The error of a run in its `done` frame. Pure. */
import type { DoneFrame, RunFailure } from "@superstep/protocol/worker/frames"
import { describeError, stackOf } from "../values/serialise.js"

/** @param thrown  any value can be thrown */
export function runFailure(thrown: unknown): Pick<DoneFrame, "error" | "stack"> {
  const stack = stackOf(thrown)
  return { error: { ...describeError(thrown), ...refusal(thrown) }, ...(stack === undefined ? {} : { stack }) }
}

/** What LangGraph (1.7 and newer) says about an answer that it refused in strict mode. */
function refusal(thrown: unknown): Pick<RunFailure, "reason" | "interrupt_ids" | "pending_ids"> {
  if (!(thrown instanceof Error) || thrown.name !== "UnknownInterruptError") return {}
  const { reason, interruptIds, pendingIds } = thrown as Error & Readonly<Record<string, unknown>>
  return { reason: String(reason), interrupt_ids: texts(interruptIds), pending_ids: texts(pendingIds) }
}

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

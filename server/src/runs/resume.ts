/** Which interrupts a run answers, and why its answers were refused. Pure. */
import { parseJson } from "@superstep/toolkit/http/json"
import type { Refusal } from "../events/protocol-event.js"
import type { Kwargs, RunEnd } from "./run.js"

// LangGraph's ids of interrupts: a hash in hex.
const interruptId = /^[0-9a-f]{32}$/

/** The ids of the interrupts that a run answers by id; none when it gives one answer, or starts anew. */
export function answeredInterrupts({ command }: Pick<Kwargs, "command">): string[] {
  const { resume } = (command ?? {}) as { resume?: unknown }
  if (typeof resume !== "object" || resume === null || Array.isArray(resume)) return []
  const ids = Object.keys(resume)
  return ids.every((id) => interruptId.test(id)) ? ids : []
}

/**
 * Why the graph refused the run's answers; undefined when it did not.
 * @see protocol-v2 §1.7, upstream-2026-11 §1.4 (2)
 */
export function refusalOf(kwargs: Pick<Kwargs, "command">, { error, interrupts }: RunEnd): Refusal | undefined {
  if (error?.error !== "UnknownInterruptError") return undefined
  const open = Object.values(parseJson(interrupts) as Record<string, { id?: string }[]>).flat()
  const pendingIds = open.flatMap(({ id }) => id ?? [])
  const { resume } = (kwargs.command ?? {}) as { resume?: unknown }
  const isMap = typeof resume === "object" && resume !== null && !Array.isArray(resume)
  const ids = answeredInterrupts(kwargs)
  const reason =
    isMap && Object.keys(resume).length === 0
      ? "empty_map"
      : ids.length === 0 && pendingIds.length > 1
        ? "ambiguous"
        : "not_pending"
  return { reason, interrupt_ids: ids, pending_ids: pendingIds }
}

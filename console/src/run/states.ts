/** Which states of a thread belong to a run, and which are still to be read. Pure. */
import type { RunInfo, StateInfo } from "./run-data.js"

export const idOf = ({ checkpoint }: StateInfo): string | undefined => checkpoint?.checkpoint_id ?? undefined

/** States newest first, each once, as it was read last. */
export function joinedStates(newer: readonly StateInfo[], known: readonly StateInfo[]): StateInfo[] {
  const ids = new Set(newer.map(idOf))
  return [...newer, ...known.filter((state) => !ids.has(idOf(state)))]
}

/** Whether a state ends a super-step: then the state before it tells which nodes executed. */
export const endsStep = ({ metadata }: StateInfo): boolean =>
  metadata?.source !== "input" && metadata?.source !== "fork" && metadata?.source !== "update"

/** States from which super-steps of the run went on and that are none of its own, as after a question. */
export function missingParents(own: readonly StateInfo[]): string[] {
  const ids = new Set(own.map(idOf))
  const parents = own.filter(endsStep).map(({ parent_checkpoint }) => parent_checkpoint?.checkpoint_id ?? undefined)
  return [...new Set(parents)].filter((id): id is string => id !== undefined && !ids.has(id))
}

/** The checkpoint from which the run was asked to go on. */
export function requestedBase({ kwargs }: Pick<RunInfo, "kwargs">): string | undefined {
  const { configurable } = (kwargs?.config ?? {}) as { configurable?: { checkpoint_id?: unknown } }
  return typeof configurable?.checkpoint_id === "string" ? configurable.checkpoint_id : undefined
}

/** What readers of a deployment or a revision see of its listener. Pure. */
import type { Health } from "./health.js"

export interface ListenerFacts {
  /** The cluster or network that it serves. */
  readonly compute_id: string
  /** ISO; null: it never called. */
  readonly last_seen_at: string | null
  /** It has not called for longer than its calls are apart, many times over. */
  readonly is_silent: boolean
  /** As it reported last. */
  readonly url: string | null
  readonly health: Health | null
  readonly run_state: "running" | "asleep" | "paused" | null
  readonly is_restarting: boolean
  /** Why it cannot carry the deployment out. */
  readonly problem: string | null
}

/** The words for a listener that is silent, or cannot do its work; undefined when all is well. */
export function listenerProblem(listener: ListenerFacts): string | undefined {
  const { compute_id: name, last_seen_at: at, problem } = listener
  if (at === null) {
    return `its listener ${name} has never called: start an installation with SUPERSTEP_LISTENER_URL and SUPERSTEP_LISTENER_TOKEN`
  }
  if (listener.is_silent) {
    return `its listener ${name} has not called since ${at}: check that its installation runs and reaches this one; its agents go on meanwhile`
  }
  return problem === null ? undefined : `its listener ${name} cannot carry it out: ${problem}`
}

/** The message of a revision, with what is wrong at its listener while it has not ended. */
export function messageSeen(
  { stage, status_message }: { readonly stage: string | null; readonly status_message: string | null },
  listener: ListenerFacts | null,
): string | null {
  const problem = listener && stage !== null ? listenerProblem(listener) : undefined
  return problem ?? status_message
}

/** What callers of the deployment would see, as its listener reported it. Nobody knows while that one is silent. */
export const stateAtListener = (
  { health, run_state, is_restarting, is_silent }: ListenerFacts,
  wanted: "running" | "paused",
) => ({
  run_state: run_state ?? wanted,
  health: is_silent ? null : health,
  is_restarting: !is_silent && is_restarting,
})

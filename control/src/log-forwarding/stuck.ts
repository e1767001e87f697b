/** Decides whether log forwarding has been failing for so long that an operator should know. Pure. */
import type { ForwardingState } from "./queries.js"

// A collector that is being replaced is away for less.
const patienceSeconds = 600

/** @returns  the reason as text, without the sink's address, which is not for everybody; undefined while all is well */
export function whyForwardingStuck(state: ForwardingState | undefined): string | undefined {
  if (!state || state.failing_seconds < patienceSeconds) return undefined
  const minutes = Math.floor(state.failing_seconds / 60)
  return `log forwarding has failed for ${minutes} minutes: see the control plane's log, and check the sink`
}

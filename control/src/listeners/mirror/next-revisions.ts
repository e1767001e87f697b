/** Which revisions of the control plane a listener's installation adds, and which it interrupts. Pure. */
import type { WantedRevision } from "@superstep/protocol/listener/messages"

/**
 * The ones with work that are not here yet. An installation that has none at all, since it was set up again, also starts with the one
 * that served.
 * @param here  the ids of all revisions of the deployment in this installation
 */
export const toAdd = (wanted: readonly WantedRevision[], here: ReadonlySet<string>): WantedRevision[] =>
  wanted.filter((it) => !here.has(it.revision_id) && (it.is_unfinished || (it.is_active && here.size === 0)))

/** Those that were interrupted at the control plane and may still be in progress here. */
export const toInterrupt = (wanted: readonly WantedRevision[], here: ReadonlySet<string>): string[] =>
  wanted.filter((it) => it.is_interrupted && here.has(it.revision_id)).map((it) => it.revision_id)

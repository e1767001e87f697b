/** Which revisions of the control plane a listener's installation adds, and which it interrupts. Pure. */
import { copyFor } from "../../revisions/field.js"
import { type SourceConfig, sourceConfigFields } from "../../revisions/source-config.js"
import type { WantedRevision } from "../exchange/exchange.js"

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

/** The settings as they hold here: this installation carries the deployment out itself, and the control plane follows pushes. */
export const settingsHere = (config: SourceConfig): SourceConfig => copyFor("listener", sourceConfigFields, config, {})

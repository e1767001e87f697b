/** What a stage is: it does its work as often as it must, and says what comes next. */
import type { Advance, ClaimedRevision } from "../revisions/claims.js"
import type { PipelineContext } from "./context.js"
import type { CarriedDeployment } from "./queries.js"

export interface StageInput {
  readonly context: PipelineContext
  readonly revision: ClaimedRevision
  readonly deployment: CarriedDeployment
  /** Aborted when the claim is lost or the control plane ends; then nothing more may be written. */
  readonly signal: AbortSignal
}

export type StageOutcome =
  | ({ readonly kind: "next" } & Advance)
  /** Come back to this stage later; nothing is wrong. */
  | { readonly kind: "wait"; readonly delayMs: number }

/**
 * Runs a stage's work. It may be killed at any moment and called again, so each step looks first whether it is done.
 * @throws BuildFailed | SourceFailed | DeployFailed  for a fault of the project
 * @throws anything else                              for a fault that may pass (`judge`)
 */
export type RunStage = (input: StageInput) => Promise<StageOutcome>

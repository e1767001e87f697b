/** The interface of a stage: it does its work, repeatedly if it is killed, and returns what comes next. */

import type { CarriedDeployment } from "../deployments/carried-queries.js"
import type { PipelineContext } from "../planner/context.js"
import type { Advance, ClaimedRevision } from "../revisions/claims.js"

export interface StageInput {
  readonly context: PipelineContext
  readonly revision: ClaimedRevision
  readonly deployment: CarriedDeployment
  /** Aborted when the claim is lost or the control plane stops; then nothing more may be written. */
  readonly signal: AbortSignal
}

export type StageOutcome =
  | ({ readonly kind: "next" } & Advance)
  /** Run this stage again later; nothing is wrong. */
  | { readonly kind: "wait"; readonly delayMs: number }

/**
 * Runs a stage's work. It may be killed at any moment and called again, so each step first checks whether it is done.
 * @throws BuildFailed | ImageRefused | SourceFailed | DeployFailed  for a fault of the project
 * @throws anything else                              for a fault that may pass (`judge`)
 */
export type RunStage = (input: StageInput) => Promise<StageOutcome>

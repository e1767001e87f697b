/** The steps of a build, as protocol/build declares them, with what the builder knows better: a program and its own error codes. */
import type * as sent from "@superstep/protocol/build/request"
import type { BuildCode } from "../faults/build-failed.js"

export interface BuildStep extends sent.BuildStep {
  readonly argv: readonly [string, ...string[]]
  readonly failure: BuildCode
}

export interface BuildPlan {
  readonly steps: readonly BuildStep[]
}

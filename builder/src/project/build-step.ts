/** The steps of a build. */
import type { BuildCode } from "../faults/build-failed.js"

export interface BuildStep {
  /** Its word in the log. `install` has the time limit of installs, every other one that of build commands. */
  readonly name: string
  readonly argv: readonly [string, ...string[]]
  /** The command for the log, where a script around it would only confuse; by default `argv`. */
  readonly shown?: string
  /** Relative to the root of the tree; empty for the root. */
  readonly folder: string
  /** The same manifests and lock file always produce the same packages, and nothing else. */
  readonly isRepeatable: boolean
  /** The error code of the revision when the step does not exit with 0. */
  readonly failure: BuildCode
}

export interface BuildPlan {
  readonly steps: readonly BuildStep[]
}

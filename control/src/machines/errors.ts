/** Errors that a machine reports to the pipeline. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { ErrorCode } from "../revisions/revision.js"

/** A fault of the project, in a message for the person who pushed the code: the same input would fail the same way, so it is never retried. */
export class BuildFailed extends KnownError {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The machine can keep no more deployments apart. */
export class TooManyDeployments extends KnownError {
  readonly code = "too_many_deployments"
}

/** Why a build cannot succeed, in words for the person who pushed the code. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { ErrorCode } from "../revisions/revision.js"

/** A fault of the project: the same input would fail the same way, so it is never tried again. */
export class BuildFailed extends KnownError {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

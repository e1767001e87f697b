/** Errors that a machine reports to the pipeline, besides `BuildFailed`. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { RefusedImageCodes } from "./error-codes.js"

/** `internal`: a fault of the machine. */
export type RefusedImageCode = keyof RefusedImageCodes | "internal"

/** The machine cannot run an image that somebody else built, or may not have it. The same input is refused again, so it is never retried. */
export class ImageRefused extends KnownError {
  readonly code: RefusedImageCode
  constructor(code: RefusedImageCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The machine can keep no more deployments apart. */
export class TooManyDeployments extends KnownError {
  readonly code = "too_many_deployments"
}

/** Why a build failed. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { type BuildCodes, buildCodes } from "./error-codes.js"

/** `internal`: a fault of the machine, which may pass. */
export type BuildCode = keyof BuildCodes | "internal"

export const isBuildCode = (code: string): code is BuildCode => code === "internal" || Object.hasOwn(buildCodes, code)

/** A fault of the project, in a message for the person who pushed the code: the same input would fail the same way, so it is never retried. */
export class BuildFailed extends KnownError {
  readonly code: BuildCode
  constructor(code: BuildCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

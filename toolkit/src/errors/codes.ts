/**
 * The type of every error code. A package lists its codes in its `error-codes.ts` and adds them here by declaration merging:
 *
 *     declare module "@superstep/toolkit/errors/codes" {
 *       interface ErrorCodes extends ServerCodes {}
 *     }
 *
 * So a code without an entry does not compile, and neither does one in a reply whose status its entry does not name. `docs/errors.md` is
 * printed from the entries (decision 67).
 */
import type { ToolkitCodes } from "./error-codes.js"

export interface ErrorCodes extends ToolkitCodes {}

/** Each code is also an anchor of `docs/errors.md`. */
export type ErrorCode = keyof ErrorCodes & string

/** The codes that a reply of this status may have. */
export type CodeOf<Status extends number> = {
  [Code in ErrorCode]: Status extends ErrorCodes[Code]["http"][number] ? Code : never
}[ErrorCode]

/** Where errors are explained, and their words in a program that ends because of them. */
import { docsAddress } from "../published.js"
import type { ErrorCode } from "./codes.js"
import { KnownError } from "./errors.js"

/** The place that explains the cause of an error and the next step. */
export const errorAddress = (code: ErrorCode): string => docsAddress("errors", code)

/** A known error's message and the place that explains it, in two lines; the stack of any other. */
export function explain(error: unknown): string {
  if (error instanceof KnownError) return `${error.message}\nSee ${errorAddress(error.code)}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

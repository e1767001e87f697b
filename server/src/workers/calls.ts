/** Calls of a worker: the handler of each method, and the wire form of errors. */
import { InvalidInput, KnownError } from "@superstep/toolkit/errors/errors"
import { checkExact } from "@superstep/toolkit/http/exact-number"
import { z } from "zod"
import { internalError } from "./error-codes.js"
import type { Fence } from "./fence.js"
import type { Language } from "./languages.js"
import type { PayloadLine, RunFailure } from "./port.js"

/** A reply to the worker: fields of the reply's header, and payload lines. */
export interface CallReply {
  readonly fields?: Readonly<Record<string, unknown>>
  readonly payload?: readonly PayloadLine[]
}

/** Answers one method for a worker of the language. Payload lines are valid until the promise settles. */
export type CallHandler = (
  fields: Readonly<Record<string, unknown>>,
  payload: readonly Buffer[],
  language?: Language,
) => Promise<CallReply>

/** Handlers by method, such as `checkpoint.put`. */
export type CallHandlers = Readonly<Record<string, CallHandler>>

export class UnknownMethod extends KnownError {
  readonly code = "unknown_method"
}

/**
 * Finds the handler of a method.
 * @throws UnknownMethod
 */
export function handlerOf(handlers: CallHandlers, method: string): CallHandler {
  const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined
  if (!handler) throw new UnknownMethod(`the server has no method "${method}"`)
  return handler
}

/**
 * Reads a call's fields.
 * @throws InvalidInput  naming each field that is missing or wrong
 */
export function parseFields<S extends z.ZodType>(schema: S, fields: unknown): z.output<S> {
  const { result: parsed } = checkExact(schema, fields)
  if (parsed.success) return parsed.data
  throw new InvalidInput(
    parsed.error.issues.map(({ path, message }) => ({
      path: ["call", ...path.map((part) => (typeof part === "number" ? part : String(part)))],
      message,
      type: "value_error",
    })),
  )
}

const fenceFields = z
  .object({ run_id: z.guid(), claim_id: z.guid() })
  .transform(({ run_id, claim_id }) => ({ runId: run_id, claimId: claim_id }))

/**
 * The claim that a worker's write belongs to. Without it, a run that has moved on could still write.
 * @throws InvalidInput  when the call names no claim
 */
export const fenceOf = (fields: unknown): Fence => parseFields(fenceFields, fields)

/** The error that a worker gets for a failed call. Details of a bug go only to the log. */
export const failureOf = (error: unknown): RunFailure =>
  error instanceof KnownError ? { error: error.name, message: error.message } : internalError

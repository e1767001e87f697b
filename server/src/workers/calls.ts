/** Calls of a worker: which function answers a method, and what an error becomes on the wire. */
import { InvalidInput, KnownError } from "@superstep/toolkit/errors/errors"
import { z } from "zod"
import type { Fence } from "./fence.js"
import type { RunFailure } from "./port.js"

/** A line after a frame's header: its name in the header and its text or bytes. */
export interface PayloadLine {
  readonly name: string
  readonly data: string | Buffer
}

/** What goes back to the worker: fields of the reply's header and payload lines. */
export interface CallReply {
  readonly fields?: Readonly<Record<string, unknown>>
  readonly payload?: readonly PayloadLine[]
}

/** Answers one method. Payload lines are valid as long as the promise is pending. */
export type CallHandler = (fields: Readonly<Record<string, unknown>>, payload: readonly Buffer[]) => Promise<CallReply>

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
  const parsed = schema.safeParse(fields)
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
 * The claim that a worker's write belongs to: without one, a run that has moved on could still write.
 * @throws InvalidInput  when it is not named
 */
export const fenceOf = (fields: unknown): Fence => parseFields(fenceFields, fields)

/** What a failed call tells the worker. A bug shows nothing of itself: its stack belongs into the log. */
export const failureOf = (error: unknown): RunFailure =>
  error instanceof KnownError
    ? { error: error.name, message: error.message }
    : { error: "InternalError", message: "the server could not answer: see its log" }

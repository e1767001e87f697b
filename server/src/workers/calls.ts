/** Calls of a worker: the handler of each method, the check of a call, and the wire form of errors. */
import type { WorkerCall } from "@superstep/protocol/worker/frames"
import { problemOf } from "@superstep/protocol/worker/validate"
import { workerCalls } from "@superstep/protocol/worker/validators"
import { InvalidInput, KnownError } from "@superstep/toolkit/errors/errors"
import { internalError } from "./error-codes.js"
import type { Fence } from "./fence.js"
import type { Language } from "./languages.js"
import type { PayloadLine, RunFailure } from "./port.js"

/** A reply to the worker: fields of the reply's header, and payload lines. */
export interface CallReply {
  readonly fields?: Readonly<Record<string, unknown>>
  readonly payload?: readonly PayloadLine[]
}

type Method = WorkerCall["method"]

/** The fields of a method's call, without those that each frame has. */
export type CallFields<M extends Method> = Omit<
  Extract<WorkerCall, { readonly method: M }>,
  "type" | "call_id" | "method" | "payload"
>

/** Answers one method for a worker of the language. The fields are valid. Payload lines are valid until the promise settles. */
export type CallHandler<M extends Method> = (
  fields: CallFields<M>,
  payload: readonly Buffer[],
  language?: Language,
) => Promise<CallReply>

/** Handlers by method, such as `checkpoint.put`. */
export type CallHandlers = { readonly [M in Method]?: CallHandler<M> }

export class UnknownMethod extends KnownError {
  readonly code = "unknown_method"
}

/**
 * Checks a call with the validator that is generated from the protocol's schema, and answers it.
 * @throws UnknownMethod  no handler has this method
 * @throws InvalidInput   naming the first field that is missing or wrong
 */
export async function answerCall(
  handlers: CallHandlers,
  call: WorkerCall,
  payload: readonly Buffer[],
  language: Language,
): Promise<CallReply> {
  const { method } = call
  const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined
  if (!handler) throw new UnknownMethod(`the server has no method "${method}"`)
  const problem = problemOf(workerCalls, "method", { ...call })
  if (problem !== undefined) throw new InvalidInput([{ path: ["call", method], message: problem, type: "value_error" }])
  return await (handler as CallHandler<Method>)(call, payload, language)
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * The claim that a worker's write belongs to. Without it, a run that has moved on could still write.
 * @throws InvalidInput  when the call names no claim
 */
export function fenceOf({ run_id, claim_id }: { readonly run_id?: string; readonly claim_id?: string }): Fence {
  if (run_id === undefined || claim_id === undefined || !uuid.test(run_id) || !uuid.test(claim_id)) {
    const message = "a write needs run_id and claim_id, as in the frame of its run"
    throw new InvalidInput([{ path: ["call"], message, type: "value_error" }])
  }
  return { runId: run_id, claimId: claim_id }
}

/** The error that a worker gets for a failed call. Details of a bug go only to the log. */
export const failureOf = (error: unknown): RunFailure =>
  error instanceof KnownError ? { error: error.name, message: error.message } : internalError

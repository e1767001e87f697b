/** Commands of the newer streaming protocol and their replies. Pure. */
import { errorAddress } from "@superstep/toolkit/errors/explain"
import { checkExact } from "@superstep/toolkit/http/exact-number"
import type { z } from "zod"
import type { CommandCodes } from "./error-codes.js"

export type CommandError = keyof CommandCodes | "not_supported"

/** A command that cannot be executed; its client gets an `error` reply. */
export class CommandFailed extends Error {
  readonly code: CommandError
  constructor(code: CommandError, message: string) {
    super(message)
    this.code = code
  }
}

export interface Executed {
  readonly result: object
  /** The place of the thread's last event that the client need not read for this command; 0 when there is none. */
  readonly appliedThroughSeq: number
}

export const successReply = (id: number, threadId: string, { result, appliedThroughSeq }: Executed) => ({
  type: "success",
  id,
  result,
  meta: { thread_id: threadId, applied_through_seq: appliedThroughSeq },
})

/** @param id  null: the error belongs to no command */
export const errorReply = (id: number | null, code: CommandError, message: string) => ({
  type: "error",
  id,
  error: code,
  message,
  doc_url: errorAddress(code),
})

/** @throws CommandFailed  `invalid_argument` with all problems */
export function parseParams<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const { result: parsed } = checkExact(schema, params ?? {})
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 || message.endsWith(".") ? message : `${path.join(".")}: ${message}`,
  )
  throw new CommandFailed("invalid_argument", problems.join("; "))
}

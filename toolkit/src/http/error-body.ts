/** The body of every error reply. */
import type { ErrorCode } from "../errors/codes.js"
import { errorAddress } from "../errors/explain.js"

/** @param detail  what LangGraph's clients read; `doc_url` is for people, as is Stripe's field of that name */
export const errorBody = (detail: unknown, code: ErrorCode, requestId?: string) => ({
  detail,
  code,
  doc_url: errorAddress(code),
  ...(requestId !== undefined && { request_id: requestId }),
})

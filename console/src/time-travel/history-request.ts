/** The requests for a thread's past, for the page and for "copy as curl". Pure. */
import { requestPath } from "../requests/request-path.js"

export const pageSize = 60

interface Page {
  /** The oldest checkpoint that is known. */
  readonly before?: string | undefined
  readonly limit?: number
}

/** @returns  the path of a page of checkpoints, the newest first */
export const historyPath = (threadId: string, { before, limit = pageSize }: Page = {}): string =>
  `${requestPath`/threads/${threadId}/history`}?${new URLSearchParams({ limit: String(limit), ...(before !== undefined && { before }) })}`

/** Pagination of searches: `limit` and `offset`, and the headers with totals (agent-server-api §1.6, §4.2). */
import { z } from "zod"

// Far above any real offset, and within the range that Postgres accepts.
const maxOffset = 2 ** 31 - 1

/** `limit` and `offset` of a body. */
export const pageFields = {
  limit: z
    .int()
    .min(1)
    .max(1000)
    .nullish()
    .transform((limit) => limit ?? 10),
  offset: z
    .int()
    .min(0)
    .max(maxOffset)
    .nullish()
    .transform((offset) => offset ?? 0),
}

/** `limit` and `offset` of a query string. */
export const pageQueryFields = {
  limit: z.coerce.number().int().min(1).max(1000).default(10),
  offset: z.coerce.number().int().min(0).max(maxOffset).default(0),
}

export interface Page {
  readonly limit: number
  readonly offset: number
}

/**
 * `X-Pagination-Total` is the number of matches; a search may stop counting after this page. `X-Pagination-Next` is
 * present while more matches follow.
 */
export function pageHeaders({ limit, offset }: Page, total: number): Record<string, string> {
  const next = offset + limit
  return { "x-pagination-total": String(total), ...(next < total && { "x-pagination-next": String(next) }) }
}

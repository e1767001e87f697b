/** Pages of a search: what a client may ask for, and the headers that tell how much there is (agent-server-api §1.6, §4.2). */
import { z } from "zod"

// Postgres counts rows in eight bytes; an offset beyond this is no page of ours.
const mostOffset = 2 ** 31 - 1

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
    .max(mostOffset)
    .nullish()
    .transform((offset) => offset ?? 0),
}

/** The same in a query. */
export const pageQueryFields = {
  limit: z.coerce.number().int().min(1).max(1000).default(10),
  offset: z.coerce.number().int().min(0).max(mostOffset).default(0),
}

export interface Page {
  readonly limit: number
  readonly offset: number
}

/**
 * `X-Pagination-Total` is the number of all matches, of which a search may stop counting beyond this page;
 * `X-Pagination-Next` is there while more follow.
 */
export function pageHeaders({ limit, offset }: Page, total: number): Record<string, string> {
  const next = offset + limit
  return { "x-pagination-total": String(total), ...(next < total && { "x-pagination-next": String(next) }) }
}

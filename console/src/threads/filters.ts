/** The filters of the list of threads: as they are in the page's address, and as the server takes them. Pure. */

import { metadataOf } from "../forms/metadata-pairs.js"
import { type Age, ages, since as momentOf } from "../frame/age.js"
import { oneIn, type RawSearch, textIn } from "../frame/search.js"

export const statuses = ["idle", "busy", "interrupted", "error"] as const
export type ThreadStatus = (typeof statuses)[number]

export interface Filters {
  /** Text in the values. */
  readonly q: string | undefined
  readonly status: ThreadStatus | undefined
  readonly graph: string | undefined
  /** `key:value` pairs, or a JSON object. */
  readonly metadata: string | undefined
  readonly since: Age | undefined
}

export const noFilters: Filters = {
  q: undefined,
  status: undefined,
  graph: undefined,
  metadata: undefined,
  since: undefined,
}

export const filtersIn = (raw: RawSearch): Filters => ({
  q: textIn(raw, "q"),
  status: oneIn(raw, "status", statuses),
  graph: textIn(raw, "graph"),
  metadata: textIn(raw, "metadata"),
  since: oneIn(raw, "since", Object.keys(ages) as Age[]),
})

export const areSet = (filters: Filters): boolean => Object.values(filters).some((value) => value !== undefined)

/** The conditions of `POST /threads/search` and `/threads/count`. @param now  in milliseconds */
export function conditionsOf({ q, status, graph, metadata, since }: Filters, now: number): Record<string, unknown> {
  const wanted = { ...metadataOf(metadata ?? ""), ...(graph !== undefined && { graph_id: graph }) }
  return {
    ...(q && { text: q }),
    ...(status && { status }),
    ...(Object.keys(wanted).length > 0 && { metadata: wanted }),
    ...(since && { updated_after: momentOf(since, now) }),
  }
}

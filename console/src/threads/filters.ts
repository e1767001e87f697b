/** The filters of the list of threads: as they are in the page's address, and as the server takes them. Pure. */
import { oneIn, type RawSearch, textIn } from "../frame/search.js"

export const statuses = ["idle", "busy", "interrupted", "error"] as const
export type ThreadStatus = (typeof statuses)[number]

export const ages = { "1h": 60, "24h": 24 * 60, "7d": 7 * 24 * 60, "30d": 30 * 24 * 60 } as const
export type Age = keyof typeof ages

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
    ...(since && { updated_after: new Date(now - ages[since] * 60_000).toISOString() }),
  }
}

/**
 * Reads `customer:42 plan:"pro plus"`, or a JSON object. A value that is JSON (a number, true, a quoted text) is that value;
 * every other one is text. Text without a colon is left out: it is still being typed.
 */
export function metadataOf(text: string): Record<string, unknown> {
  const whole = text.trim()
  if (whole.startsWith("{")) {
    const object = parsed(whole)
    return typeof object === "object" && object !== null ? (object as Record<string, unknown>) : {}
  }
  const pairs = whole.matchAll(/(?<![^\s:,])([^\s:,]+):("(?:[^"\\]|\\.)*"|[^\s,]+)/g)
  return Object.fromEntries([...pairs].map(([, key = "", value = ""]) => [key, parsed(value)]))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

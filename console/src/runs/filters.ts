/** The filters of the list of runs: as they are in the page's address, and as the server takes them. Pure. */

import { metadataOf } from "../forms/metadata-pairs.js"
import { type Age, ages, since as momentOf } from "../frame/age.js"
import { oneIn, type RawSearch, textIn } from "../frame/search.js"

/** The statuses of the API, and two words for what people look for. */
export const statuses = {
  failed: ["error", "timeout"],
  "in flight": ["pending", "running"],
  pending: ["pending"],
  running: ["running"],
  success: ["success"],
  interrupted: ["interrupted"],
  error: ["error"],
  timeout: ["timeout"],
} as const
export type Status = keyof typeof statuses

/** The shortest duration, in seconds. */
export const durations = { "1s": 1, "10s": 10, "1min": 60, "10min": 600 } as const
export type Duration = keyof typeof durations

export interface Filters {
  /** Text in the error. */
  readonly error: string | undefined
  readonly status: Status | undefined
  readonly graph: string | undefined
  /** The id of an assistant. */
  readonly assistant: string | undefined
  /** The id of the revision that executed its last attempt. */
  readonly revision: string | undefined
  /** The id of a thread. */
  readonly thread: string | undefined
  /** The identity of the caller. */
  readonly user: string | undefined
  /** `key:value` pairs, or a JSON object. */
  readonly metadata: string | undefined
  readonly since: Age | undefined
  readonly took: Duration | undefined
}

const keysOf = <Key extends string>(object: Readonly<Record<Key, unknown>>): Key[] => Object.keys(object) as Key[]

export const filtersIn = (raw: RawSearch): Filters => ({
  error: textIn(raw, "error"),
  status: oneIn(raw, "status", keysOf(statuses)),
  graph: textIn(raw, "graph"),
  assistant: textIn(raw, "assistant"),
  revision: textIn(raw, "revision"),
  thread: textIn(raw, "thread"),
  user: textIn(raw, "user"),
  metadata: textIn(raw, "metadata"),
  since: oneIn(raw, "since", keysOf(ages)),
  took: oneIn(raw, "took", keysOf(durations)),
})

export const noFilters: Filters = filtersIn({})

export const areSet = (filters: Filters): boolean => Object.values(filters).some((value) => value !== undefined)

/** The conditions of `POST /runs/search`. @param now  in milliseconds */
export function conditionsOf(filters: Filters, now: number): Record<string, unknown> {
  const { error, status, graph, assistant, revision, thread, user, since, took } = filters
  const metadata = metadataOf(filters.metadata ?? "")
  return {
    ...(error && { error }),
    ...(status && { status: statuses[status] }),
    ...(graph !== undefined && { graph_id: graph }),
    ...(assistant !== undefined && { assistant_id: assistant }),
    ...(revision !== undefined && { revision_id: revision }),
    ...(thread !== undefined && { thread_id: thread }),
    ...(user !== undefined && { user_id: user }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(since && { created_after: momentOf(since, now) }),
    ...(took && { min_seconds: durations[took] }),
  }
}

/** What is read of an agent's runs: a page at a time, further and further back, and the newest page again and again. */
import { agentRequest } from "../agent/agent-request.js"
import type { Agent } from "../agent/use-agent.js"
import { jsonOf } from "../requests/api-error.js"
import type { ApiRequest } from "../requests/curl.js"
import { isOver } from "../run/read-run.js"
import type { RunInfo } from "../run/run-data.js"
import { conditionsOf, type Filters } from "./filters.js"

/** A run as `POST /runs/search` shows it. */
export interface ListedRun extends RunInfo {
  readonly graph_id: string
  readonly due_at: string
  readonly user_id: string | null
  readonly is_stateless: boolean
  readonly input_saved: boolean | null
}

const shown = [
  ...["run_id", "thread_id", "assistant_id", "graph_id", "status", "created_at", "due_at", "updated_at"],
  ...["attempt", "error", "cancel_reason", "metadata", "user_id", "is_stateless", "input_saved"],
]

export interface RunPage {
  readonly runs: readonly ListedRun[]
  readonly next: string | null
  /** Down to which time the agent has looked for it; null when no run is left. */
  readonly read_until: string | null
  /** When it was read, by the clock that dates runs. */
  readonly now: string
}

/** What was read of one agent's runs. */
export interface ReadRuns {
  /** The newest first; at least one. */
  readonly pages: readonly RunPage[]
  /** When all of them were read, in milliseconds. */
  readonly readAt: number
  /** Why the page after the last one could not be read. */
  readonly olderError?: unknown
}

const path = "/runs/search"

/** Where a page begins, undefined for the newest one, and how many runs it has at most. */
interface Portion {
  readonly cursor?: string | undefined
  readonly limit: number
}

const bodyOf = (filters: Filters, portion: Portion): object => ({
  ...conditionsOf(filters, Date.now()),
  select: shown,
  ...portion,
})

/** What a list reads first, for "copy as curl". */
export const listRequest = (agent: Pick<Agent, "url" | "deploymentId">, filters: Filters, limit: number): ApiRequest =>
  agentRequest(agent, "POST", path, bodyOf(filters, { limit }))

export async function readRunPage(
  agent: Pick<Agent, "fetch">,
  filters: Filters,
  portion: Portion,
  signal: AbortSignal | undefined,
): Promise<RunPage> {
  const body = JSON.stringify(bodyOf(filters, portion))
  const headers = { "content-type": "application/json" }
  const init = { method: "POST", headers, body, ...(signal && { signal }) }
  return (await jsonOf(await agent.fetch(path, init))) as RunPage
}

/** Each run once, as the first of the pages shows it. */
export const listedIn = (pages: readonly RunPage[]): ListedRun[] =>
  [
    ...new Map(pages.toReversed().flatMap(({ runs }) => runs.toReversed().map((run) => [run.run_id, run]))).values(),
  ].reverse()

/** Down to which time the pages reach; "" when no run is left. */
export const endOf = (page: RunPage | undefined): string => page?.read_until ?? ""

/**
 * The pages, the first with what the newest shows: new runs and new statuses; what it should have and has not is gone.
 * @returns undefined when so many runs have come that some lie between the two
 */
export function withNewest(pages: readonly RunPage[], newest: RunPage): RunPage[] | undefined {
  const [first, ...others] = pages
  if (!first) return undefined
  const end = endOf(newest)
  if (end > first.now) return undefined
  const ids = new Set(newest.runs.map(({ run_id }) => run_id))
  const isOlder = ({ run_id, created_at }: ListedRun) => !ids.has(run_id) && created_at <= end
  const rest = others.map((page) => ({ ...page, runs: page.runs.filter(isOlder) }))
  return [{ ...first, now: newest.now, runs: [...newest.runs, ...first.runs.filter(isOlder)] }, ...rest]
}

// For statuses of old runs, which are seldom in flight: all pages are read again.
const rereadMs = 15_000

interface Reading {
  /** @param cursor  undefined for the newest page */
  readonly read: (cursor?: string) => Promise<RunPage>
  /** What is known at the moment of the call: older pages may have been added meanwhile. */
  readonly known: () => ReadRuns | undefined
  /** Something has been done with the runs: none is as it was. */
  readonly isOutdated: boolean
  /** In milliseconds. */
  readonly now: number
}

/** Reads the newest page again; all pages, if an old run is still in flight; only the newest, when too many runs have come. */
export async function readAgain({ read, known, isOutdated, now }: Reading): Promise<ReadRuns> {
  const newest = await read()
  const before = known()
  const pages = before && withNewest(before.pages, newest)
  if (!pages) return { pages: [newest], readAt: now }
  const isDue = isOutdated || (now - before.readAt >= rereadMs && hasOldInFlight(pages, newest))
  if (!isDue) return { ...before, pages }
  const again = [newest]
  for (let cursor = newest.next; cursor !== null && again.length < pages.length; ) {
    const page = await read(cursor)
    again.push(page)
    cursor = page.next
  }
  return { pages: again, readAt: now }
}

/** Whether a run is not over that the newest page does not show. */
function hasOldInFlight(pages: readonly RunPage[], newest: RunPage): boolean {
  const ids = new Set(newest.runs.map(({ run_id }) => run_id))
  return pages.some(({ runs }) => runs.some((run) => !ids.has(run.run_id) && !isOver(run)))
}

/** Adds the page that was read from a cursor, unless the pages end elsewhere by now. */
export const withOlder = (known: ReadRuns, cursor: string, page: RunPage): ReadRuns =>
  known.pages.at(-1)?.next === cursor ? { pages: [...known.pages, page], readAt: known.readAt } : known

/** Notes why the page of a cursor could not be read. */
export const withOlderError = (known: ReadRuns, cursor: string, olderError: unknown): ReadRuns =>
  known.pages.at(-1)?.next === cursor ? { ...known, olderError } : known

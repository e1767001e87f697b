/** The runs of several agents as one list. Pure. */
import type { ListedRun, RunPage } from "../runs/run-pages.js"

export interface AgentPage {
  readonly deploymentId: string
  readonly name: string
  readonly page: RunPage
}

export interface MergedRun {
  readonly run: ListedRun
  readonly deploymentId: string
  readonly name: string
}

export interface Merged {
  /** Newest first. */
  readonly runs: readonly MergedRun[]
  /** Back to which moment the list is whole: an agent has older runs that were not read. Undefined: it has all. */
  readonly wholeSince: string | undefined
  /** The agents that have older ones. */
  readonly withOlder: readonly Pick<AgentPage, "deploymentId" | "name">[]
}

// `2026-11-28T09:00:00.123`, of the end of a page and of a run.
const millisecond = 23

/**
 * What one page of each agent shows together. Older runs of an agent that was read further back are left out: between them others would be
 * missing, without a sign.
 */
export function merged(pages: readonly AgentPage[]): Merged {
  const withOlder = pages.filter(({ page }) => page.next !== null)
  const end = withOlder
    .map(({ page }) => page.next?.slice(0, millisecond) ?? "")
    .toSorted()
    .at(-1)
  const runs = pages
    .flatMap(({ page, ...agent }) => page.runs.map((run) => ({ run, ...agent })))
    .filter(({ run }) => end === undefined || run.created_at.slice(0, millisecond) >= end)
    .toSorted(
      (one, other) => compare(other.run.created_at, one.run.created_at) || compare(other.run.run_id, one.run.run_id),
    )
  return {
    runs,
    wholeSince: end === undefined ? undefined : `${end}Z`,
    withOlder: withOlder.map(({ deploymentId, name }) => ({ deploymentId, name })),
  }
}

/** What to say when there is no run; undefined while older ones, which nobody has read, may be there. */
export function emptyTitle({ runs, wholeSince }: Merged, isFiltered: boolean): string | undefined {
  if (runs.length > 0 || wholeSince !== undefined) return undefined
  return isFiltered ? "No run matches" : "No runs yet"
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

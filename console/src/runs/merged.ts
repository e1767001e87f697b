/** The runs of one or several agents as one list. Pure. */
import type { Agent } from "../agent/use-agent.js"
import { endOf, type ListedRun, listedIn, type ReadRuns } from "./run-pages.js"

/** An agent whose runs are in a list. */
export interface RunSource extends Pick<Agent, "fetch" | "base"> {
  readonly id: string
  /** What tells it from the others of the list; undefined when it is alone. */
  readonly name: string | undefined
}

export interface AgentRuns {
  readonly source: RunSource
  readonly known: ReadRuns
}

export interface SourcedRun {
  readonly run: ListedRun
  readonly source: RunSource
}

export interface Merged {
  /** Newest first. */
  readonly runs: readonly SourcedRun[]
  /** Down to which time the list is whole: below it, runs that were not read may belong between those that were. Undefined: down to its end. */
  readonly wholeSince: string | undefined
  /** The agents to read on, so that the list goes on: those that answer and have few runs below `wholeSince`. */
  readonly toRead: readonly RunSource[]
  /** The agents that have not answered when they were asked for older runs, and why. */
  readonly cutShort: readonly CutShort[]
  /** How many pages were read since the list has grown. */
  readonly fruitless: number
}

export interface CutShort {
  readonly source: RunSource
  readonly error: unknown
  /** Its runs before this time are not in the list. */
  readonly since: string
}

// With fewer runs in store an agent is asked for more along with the one that holds the list back.
const enoughInStore = 10

/** Older runs of an agent that was read further back are left out, since others would be missing between them, without a sign. */
export function merged(agents: readonly AgentRuns[]): Merged {
  const open = agents.filter(({ known }) => lastOf(known)?.next != null)
  const answering = open.filter(({ known }) => known.olderError === undefined)
  const end = answering
    .map(({ known }) => endOf(lastOf(known)))
    .toSorted()
    .at(-1)
  const isShown = ({ created_at }: ListedRun) => end === undefined || created_at >= end
  const runsOf = agents.map(({ source, known }) => ({ source, runs: listedIn(known.pages) }))
  const runs = runsOf.flatMap(({ source, runs }) => runs.filter(isShown).map((run) => ({ run, source })))
  if (agents.length > 1)
    runs.sort(({ run: a }, { run: b }) => compare(b.created_at, a.created_at) || compare(b.run_id, a.run_id))
  const inStore = new Map(
    runsOf.map(({ source, runs }) => [source.id, runs.reduce((sum, run) => sum + (isShown(run) ? 0 : 1), 0)]),
  )
  const oldest = runs.at(-1)?.run.created_at
  return {
    runs,
    wholeSince: end,
    toRead: answering.map(({ source }) => source).filter(({ id }) => (inStore.get(id) ?? 0) < enoughInStore),
    cutShort: open.flatMap(({ source, known }) =>
      known.olderError === undefined ? [] : [{ source, error: known.olderError, since: endOf(lastOf(known)) }],
    ),
    fruitless: agents.reduce((sum, { known }) => sum + fruitlessOf(known, isShown, oldest), 0),
  }
}

/** The pages after the first that show no run, and begin where the list ends. @param oldest  when the list's last run was created */
const fruitlessOf = ({ pages }: ReadRuns, isShown: (run: ListedRun) => boolean, oldest: string | undefined): number =>
  pages.filter(
    ({ runs }, index) =>
      index > 0 && !runs.some(isShown) && (oldest === undefined || endOf(pages[index - 1]) <= oldest),
  ).length

const lastOf = ({ pages }: ReadRuns) => pages.at(-1)

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

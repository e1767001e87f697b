/** The rows of the list of runs. */
import { Link } from "@tanstack/react-router"
import { memo, useCallback, useEffect } from "react"
import { useAgent } from "../agent/use-agent.js"
import { LongList, useLongList } from "../frame/long-list.js"
import { Ago } from "../frame/time.js"
import { durationText } from "../frame/time-text.js"
import { RunStatus } from "../run/run-status.js"
import type { ListedRun, useRunPages } from "./run-pages.js"

// Read on before the end is in view.
const ahead = 30

interface Props {
  readonly pages: ReturnType<typeof useRunPages>
  readonly chosen: ReadonlySet<string>
  readonly onChoose: (run: ListedRun) => void
}

export function RunList({ pages: { runs, hasMore, isReading, isHeld, readMore }, chosen, onChoose }: Props) {
  const keyOf = useCallback((index: number) => runs[index]?.run_id ?? index, [runs])
  const list = useLongList({ count: runs.length, rowHeight: 52, keyOf })
  const isNearEnd = list.last >= runs.length - ahead
  useEffect(() => {
    if (isNearEnd && hasMore && !isReading && !isHeld) readMore()
  }, [isNearEnd, hasMore, isReading, isHeld, readMore])
  return (
    <LongList
      list={list}
      label="Runs"
      isOpen={hasMore}
      row={(index, isCurrent) => {
        const run = runs[index]
        return (
          run && (
            <Row
              row={index}
              run={run}
              isChosen={chosen.has(run.run_id)}
              isCurrent={isCurrent}
              onFocus={list.choose}
              onChoose={onChoose}
            />
          )
        )
      }}
    />
  )
}

interface RowProps {
  readonly row: number
  readonly run: ListedRun
  readonly isChosen: boolean
  /** The only one that the tab key reaches; the arrows lead to the others. */
  readonly isCurrent: boolean
  readonly onFocus: (row: number) => void
  readonly onChoose: (run: ListedRun) => void
}

const Row = memo(({ row, run, isChosen, isCurrent, onFocus, onChoose }: RowProps) => {
  const { base } = useAgent()
  const { run_id, thread_id, graph_id } = run
  const id = run_id.slice(-8)
  return (
    <div className="runs-row">
      <input
        type="checkbox"
        aria-label={`Choose run ${id}`}
        checked={isChosen}
        tabIndex={isCurrent ? 0 : -1}
        onFocus={() => onFocus(row)}
        onChange={() => onChoose(run)}
      />
      <Link
        to={`${base}/threads/${thread_id}/runs/${run_id}`}
        className="runs-link"
        data-row={row}
        tabIndex={isCurrent ? 0 : -1}
        onFocus={() => onFocus(row)}
        preload={false}
      >
        <RunCells run={run} />
      </Link>
      <span className="visually-hidden">{graph_id}</span>
    </div>
  )
})

/** What a row says of its run. @param agent  its name, in a list of several agents */
export const RunCells = ({ run, agent }: { run: ListedRun; agent?: string }) => (
  <>
    <RunStatus status={run.status} />
    <span className="runs-text">
      <span className="runs-title">{titleOf(run)}</span>
      <span className="runs-note">{[agent, noteOf(run)].filter(Boolean).join(" · ")}</span>
    </span>
    <span className="runs-id mono">{run.run_id.slice(-8)}</span>
    <span className="runs-took number">{durationText(tookMs(run, Date.now()))}</span>
    <Ago className="runs-time number" at={run.created_at} />
  </>
)

const titleOf = ({ error, graph_id }: ListedRun): string =>
  error ? `${error.error}: ${error.message}`.slice(0, 240) : graph_id

/** What else tells runs apart. */
function noteOf({ error, graph_id, cancel_reason, user_id, attempt = 0, metadata }: ListedRun): string {
  const own = new Set(["graph_id", "assistant_id", "thread_id", "created_by"])
  const pairs = Object.entries(metadata ?? {}).flatMap(([key, value]) =>
    own.has(key) ? [] : [`${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`],
  )
  return [
    ...(error ? [graph_id] : []),
    ...(cancel_reason ? [`stopped: ${cancel_reason}`] : []),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(user_id ? [user_id] : []),
    ...pairs,
  ]
    .join(" · ")
    .slice(0, 240)
}

/** From when it was due to its end, or until now. */
const tookMs = ({ status, due_at, created_at, updated_at }: ListedRun, now: number): number => {
  const end = status === "pending" || status === "running" ? now : Date.parse(updated_at)
  return Math.max(0, end - Math.max(Date.parse(created_at), Date.parse(due_at)))
}

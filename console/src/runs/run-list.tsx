/** The rows of a list of runs. */
import { Link } from "@tanstack/react-router"
import { memo, useCallback, useEffect } from "react"
import { Button } from "../frame/button.js"
import { History } from "../frame/icons.js"
import { Ago } from "../frame/time.js"
import { durationText } from "../frame/time-text.js"
import { RunStatus } from "../run/run-status.js"
import { LongList, useLongList } from "../tables/long-list.js"
import type { SourcedRun } from "./merged.js"
import type { ListedRun } from "./run-pages.js"
import type { Runs } from "./use-runs.js"

// Read on before the end is in view.
const ahead = 30

/** What can be done with a run of the list. */
interface Doings {
  /** Chooses a run or leaves it out; undefined where runs cannot be chosen. */
  readonly onChoose?: (run: ListedRun) => void
  readonly onReplay: (run: SourcedRun) => void
}

interface Props extends Doings {
  readonly list: Runs
  readonly chosen?: ReadonlySet<string>
}

export function RunList({ list: { runs, hasMore, isReading, isHeld, readMore }, chosen, ...doings }: Props) {
  const keyOf = useCallback((index: number) => runs[index]?.run.run_id ?? index, [runs])
  const rows = useLongList({ count: runs.length, rowHeight: 52, keyOf })
  const isNearEnd = rows.last >= runs.length - ahead
  useEffect(() => {
    if (isNearEnd && hasMore && !isReading && !isHeld) readMore()
  }, [isNearEnd, hasMore, isReading, isHeld, readMore])
  return (
    <LongList
      list={rows}
      label="Runs"
      isOpen={hasMore}
      row={(index, isCurrent) => {
        const found = runs[index]
        return (
          found && (
            <Row
              row={index}
              run={found.run}
              source={found.source}
              isChosen={chosen?.has(found.run.run_id) ?? false}
              isCurrent={isCurrent}
              onFocus={rows.choose}
              {...doings}
            />
          )
        )
      }}
    />
  )
}

interface RowProps extends SourcedRun, Doings {
  readonly row: number
  readonly isChosen: boolean
  /** The only one that the tab key reaches; the arrows lead to the others. */
  readonly isCurrent: boolean
  readonly onFocus: (row: number) => void
}

const Row = memo(({ row, run, source, isChosen, isCurrent, onFocus, onChoose, onReplay }: RowProps) => {
  const { run_id, thread_id, graph_id, is_stateless } = run
  const id = run_id.slice(-8)
  const reached = { tabIndex: isCurrent ? 0 : -1, onFocus: () => onFocus(row) }
  return (
    <div className="runs-row">
      {onChoose && (
        <input
          type="checkbox"
          aria-label={`Choose run ${id}`}
          checked={isChosen}
          onChange={() => onChoose(run)}
          {...reached}
        />
      )}
      <Link
        to={`${source.base}/threads/${thread_id}/runs/${run_id}`}
        className="runs-link row-link"
        data-row={row}
        preload={false}
        {...reached}
      >
        <RunCells run={run} agent={source.name} />
      </Link>
      <span className="visually-hidden">{graph_id}</span>
      <Button
        look="quiet"
        label={`Replay run ${id} from a checkpoint`}
        tip="Replay from a checkpoint…"
        disabledBecause={is_stateless ? "A run without a thread keeps no checkpoint to replay from." : undefined}
        isSkippedByTab={!isCurrent}
        onPress={() => onReplay({ run, source })}
      >
        <History size={15} aria-hidden />
      </Button>
    </div>
  )
})

/** What a row says of its run. @param agent  its name, in a list of several agents */
const RunCells = ({ run, agent }: { run: ListedRun; agent: string | undefined }) => (
  <>
    <RunStatus status={run.status} />
    <span className="runs-text row-text">
      <span className="row-title cut">{titleOf(run)}</span>
      <span className="note cut">{[agent, noteOf(run)].filter(Boolean).join(" · ")}</span>
    </span>
    <span className="runs-id note mono">{run.run_id.slice(-8)}</span>
    <span className="runs-took note number row-end">{durationText(tookMs(run, Date.now()))}</span>
    <Ago className="runs-time note number row-end" at={run.created_at} />
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

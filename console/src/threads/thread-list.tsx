/** The rows of the list of threads. */
import { Link } from "@tanstack/react-router"
import { memo } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Problem } from "../frame/problem.js"
import { Ago } from "../frame/time.js"
import { textOf } from "../messages/messages.js"
import { LongList, useLongList } from "../tables/long-list.js"
import { StatusBadge } from "../thread/status-badge.js"
import type { Filters } from "./filters.js"
import { type ListedThread, pagesOf, useThreadRows } from "./thread-data.js"

export function ThreadList({ filters, count }: { filters: Filters; count: number }) {
  const list = useLongList({ count, rowHeight: 52 })
  const { rowAt, error } = useThreadRows(filters, pagesOf(list.first, list.last))
  return (
    <>
      {error && <Problem error={error} />}
      <LongList
        list={list}
        label="Threads"
        row={(index, isCurrent) => (
          <Row row={index} thread={rowAt(index)} isCurrent={isCurrent} onFocus={list.choose} />
        )}
      />
    </>
  )
}

interface RowProps {
  readonly row: number
  readonly thread: ListedThread | undefined
  /** The only one that the tab key reaches; the arrows lead to the others. */
  readonly isCurrent: boolean
  readonly onFocus: (row: number) => void
}

const Row = memo(({ row, thread, isCurrent, onFocus }: RowProps) => {
  const { base } = useAgent()
  if (!thread)
    return (
      <div className="threads-row threads-row-empty row-link" data-row={row} tabIndex={isCurrent ? 0 : -1}>
        <span className="visually-hidden">Loading</span>
      </div>
    )
  const { thread_id, status, metadata, updated_at, extracted } = thread
  const first = textOf(extracted.first ?? "")
  const last = textOf(extracted.last ?? "")
  return (
    <Link
      to={`${base}/threads/${thread_id}`}
      className="threads-row row-link"
      data-row={row}
      tabIndex={isCurrent ? 0 : -1}
      onFocus={() => onFocus(row)}
      preload={false}
    >
      <StatusBadge status={status} />
      <span className="threads-text row-text">
        <span className="threads-title row-title cut">
          {first.slice(0, 200) || (
            <span className="faint">{status === "idle" ? "no messages" : "no saved messages"}</span>
          )}
        </span>
        <span className="threads-last note cut">{last === first ? summaryOf(metadata) : last.slice(0, 240)}</span>
      </span>
      <span className="threads-graph note cut">{String(metadata.graph_id ?? "")}</span>
      <span className="threads-id note mono">{thread_id.slice(-8)}</span>
      <Ago className="threads-time note number row-end" at={updated_at} />
    </Link>
  )
})

const own = new Set(["graph_id", "assistant_id", "thread_id", "created_by", "branch_names"])

const summaryOf = (metadata: ListedThread["metadata"]): string =>
  Object.entries(metadata)
    .filter(([key]) => !own.has(key))
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" · ")
    .slice(0, 200)

/** The rows of the list. Only those in view exist in the page, so ten thousand are as quick as ten. */
import { Link } from "@tanstack/react-router"
import { useVirtualizer } from "@tanstack/react-virtual"
import { type FocusEvent, type KeyboardEvent, memo, useCallback, useEffect, useRef, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { ago, exactly } from "../frame/ago.js"
import { Problem } from "../frame/problem.js"
import { textOf } from "../messages/messages.js"
import { StatusBadge } from "../thread/status-badge.js"
import type { Filters } from "./filters.js"
import { rowAfter } from "./list-keys.js"
import { type ListedThread, pagesOf, useThreadRows } from "./thread-data.js"

const rowHeight = 52

export function ThreadList({ filters, count }: { filters: Filters; count: number }) {
  const scroller = useRef<HTMLDivElement>(null)
  const [current, setCurrent] = useState(0)
  const moved = useRef(false)
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  })
  const items = rows.getVirtualItems()
  const { rowAt, error } = useThreadRows(filters, pagesOf(items[0]?.index ?? 0, items.at(-1)?.index ?? 0))
  const onKey = (event: KeyboardEvent) => {
    const inView = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 1)
    const next = rowAfter(event.key, current, count, inView)
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    moved.current = true
    setCurrent(next)
    rows.scrollToIndex(next)
  }
  // The row of a far jump comes into being with the scrolling, and takes the focus then. While the list settles its element may be replaced or
  // removed once more, which loses the focus, so the row gets it again until the person goes elsewhere.
  useEffect(() => {
    if (!moved.current) return
    const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${current}"]`)
    if (row && row !== document.activeElement) row.focus({ preventScroll: true })
  })
  useEffect(() => {
    const leave = () => {
      moved.current = false
    }
    document.addEventListener("pointerdown", leave)
    return () => document.removeEventListener("pointerdown", leave)
  }, [])
  const onBlur = ({ currentTarget, relatedTarget }: FocusEvent) => {
    if (relatedTarget !== null && !currentTarget.contains(relatedTarget)) moved.current = false
  }
  const focused = Math.min(current, count - 1)
  const choose = useCallback((row: number) => setCurrent(row), [])
  return (
    <>
      {error && <Problem error={error} />}
      <div ref={scroller} className="threads-scroller">
        <ul
          className="threads-list"
          aria-label="Threads"
          style={{ height: rows.getTotalSize() }}
          onKeyDown={onKey}
          onBlur={onBlur}
        >
          {items.map(({ index, start }) => (
            <li
              key={index}
              className="threads-item"
              style={{ transform: `translateY(${start}px)`, height: rowHeight }}
              aria-setsize={count}
              aria-posinset={index + 1}
            >
              <Row row={index} thread={rowAt(index)} isCurrent={index === focused} onFocus={choose} />
            </li>
          ))}
        </ul>
      </div>
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
      <div className="threads-row threads-row-empty" data-row={row} tabIndex={isCurrent ? 0 : -1}>
        <span className="visually-hidden">Loading</span>
      </div>
    )
  const { thread_id, status, metadata, updated_at, extracted } = thread
  const first = textOf(extracted.first ?? "")
  const last = textOf(extracted.last ?? "")
  return (
    <Link
      to={`${base}/threads/${thread_id}`}
      className="threads-row"
      data-row={row}
      tabIndex={isCurrent ? 0 : -1}
      onFocus={() => onFocus(row)}
      preload={false}
    >
      <StatusBadge status={status} />
      <span className="threads-text">
        <span className="threads-title">
          {first.slice(0, 200) || (
            <span className="faint">{status === "idle" ? "no messages" : "no saved messages"}</span>
          )}
        </span>
        <span className="threads-last">{last === first ? summaryOf(metadata) : last.slice(0, 240)}</span>
      </span>
      <span className="threads-graph">{String(metadata.graph_id ?? "")}</span>
      <span className="threads-id mono">{thread_id.slice(-8)}</span>
      <time className="threads-time number" dateTime={updated_at} title={exactly(updated_at)}>
        {ago(updated_at, Date.now())}
      </time>
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

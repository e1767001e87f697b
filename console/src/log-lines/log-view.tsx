/** Lines of a log: thousands without a stutter, following the end until the reader scrolls up. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { type ReactNode, useEffect, useRef, useState } from "react"
import { Button } from "../frame/button.js"
import { Loading } from "../frame/empty.js"
import { TypedField } from "../frame/filter-fields.js"
import { ArrowDown, TriangleAlert } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { clockOf } from "../frame/time-text.js"
import type { LogLine } from "../platform/types.js"
import { isError, nextError } from "./find.js"
import { dayAbove } from "./line-time.js"
import { LogMessage } from "./log-message.js"
import type { LogState } from "./use-log.js"

export interface LogViewProps {
  readonly log: LogState
  readonly label: string
  /** The text that all of the lines contain. */
  readonly search: string
  readonly onSearch: (text: string | undefined) => void
  /** Further filters, before the search. */
  readonly filters?: ReactNode
  /** What is shown while there are no lines. */
  readonly empty: ReactNode
  /** What a line says besides time and message. */
  readonly mark?: (line: LogLine) => ReactNode
  /** For a log of the past: it is read from its start, and no end is followed. */
  readonly startsAtTop?: boolean
}

const rowPx = 21
// Within this distance from the end, a reader counts as being there.
const nearEndPx = 40

export function LogView(props: LogViewProps) {
  const { log, label, search, onSearch, filters, empty, mark, startsAtTop = false } = props
  const box = useRef<HTMLDivElement>(null)
  const [isFollowing, setFollowing] = useState(!startsAtTop)
  const [current, setCurrent] = useState(-1)
  const { lines: shown } = log
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowPx,
    overscan: 20,
    getItemKey: (index) => shown[index]?.id ?? index,
  })
  const count = shown.length
  useEffect(() => {
    if (isFollowing && count > 0) rows.scrollToIndex(count - 1, { align: "end" })
  }, [count, isFollowing, rows])
  const jump = () => {
    const next = nextError(shown, current)
    setFollowing(false)
    setCurrent(next)
    rows.scrollToIndex(next, { align: "center" })
  }
  const hasError = shown.some(isError)
  return (
    <div className="log page-rest">
      <div className="log-bar">
        {filters}
        <TypedField label="Search in the log" placeholder="Search" value={search} onChange={onSearch} />
        <span className="faint number" aria-live="polite">
          {count} {search.trim() === "" ? "lines" : "lines found"}
        </span>
        <div className="log-tools">
          <Button look="quiet" onPress={jump} disabledBecause={hasError ? undefined : "No line tells of an error."}>
            <TriangleAlert size={14} aria-hidden /> Next error
          </Button>
          {!startsAtTop && (
            <>
              <Button
                look="quiet"
                onPress={() => setFollowing(!isFollowing)}
                tip={isFollowing ? "Stops scrolling with new lines" : "Scrolls with new lines"}
              >
                <ArrowDown size={14} aria-hidden /> {isFollowing ? "Following" : "Follow"}
              </Button>
              <span className={log.isLive ? "log-live log-live-on" : "log-live"}>
                {log.isLive ? "live" : "not live"}
              </span>
            </>
          )}
        </div>
      </div>
      {log.isCut && (
        <p className="note">
          Older lines are not shown. The search looks at all of them, and <code>superstep logs</code> prints them.
        </p>
      )}
      {log.error !== undefined && <Problem error={log.error} next="It is tried again every 2 seconds." />}
      <div
        ref={box}
        className="log-lines"
        role="log"
        aria-label={label}
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        onWheel={({ deltaY }) => deltaY < 0 && setFollowing(false)}
        onKeyDown={({ key }) => ["ArrowUp", "PageUp", "Home"].includes(key) && setFollowing(false)}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          if (scrollHeight - scrollTop - clientHeight < nearEndPx && current === -1) setFollowing(!startsAtTop)
        }}
      >
        {log.isLoading && <Loading what="Reading the log" />}
        {!log.isLoading && count === 0 && empty}
        <div className="log-size" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ key, index, start }) => {
            const line = shown[index]
            if (!line) return null
            const day = dayAbove(line.timestamp, shown[index - 1]?.timestamp)
            return (
              <div
                key={key}
                ref={rows.measureElement}
                data-index={index}
                className="log-row"
                style={{ transform: `translateY(${start}px)` }}
              >
                {day && <div className="log-day">{day}</div>}
                <div className={`log-line log-${line.level.toLowerCase()}${index === current ? " log-current" : ""}`}>
                  <time dateTime={line.timestamp} title={line.timestamp}>
                    {clockOf(line.timestamp)}
                  </time>
                  {mark?.(line)}
                  <LogMessage text={line.message} search={search} />
                </div>
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

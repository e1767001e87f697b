/** The waterfall of a run. The arrow keys move between rows, and a row tells all that its bar shows. */
import { type KeyboardEvent, useEffect, useRef, useState } from "react"
import { durationText } from "../frame/time-text.js"
import { countText, ticksOf } from "./axis.js"
import type { Row } from "./row.js"
import type { Waterfall } from "./waterfall.js"

interface WaterfallViewProps {
  readonly waterfall: Waterfall
  readonly chosen: string | undefined
  readonly onChoose: (row: Row) => void
}

// The text of a mark needs room at its right.
const maxTick = 0.93

export function WaterfallView({ waterfall, chosen, onChoose }: WaterfallViewProps) {
  const { rows, start, end, firstError } = waterfall
  const list = useRef<HTMLDivElement>(null)
  const [focused, setFocused] = useState(0)
  const errorKey = firstError?.key
  // The first error comes into view when the page opens, and not again while a person looks elsewhere.
  useEffect(() => {
    if (errorKey === undefined) return
    list.current?.querySelector(`[data-key="${CSS.escape(errorKey)}"]`)?.scrollIntoView({ block: "center" })
  }, [errorKey])
  const onKey = (event: KeyboardEvent) => {
    const next = { ArrowDown: focused + 1, ArrowUp: focused - 1, Home: 0, End: rows.length - 1 }[event.key]
    if (next === undefined || next < 0 || next >= rows.length) return
    event.preventDefault()
    setFocused(next)
    list.current?.querySelectorAll<HTMLElement>(".waterfall-row")[next]?.focus()
  }
  const length = end - start
  return (
    <div className="waterfall">
      <div className="waterfall-axis" aria-hidden>
        {ticksOf(length * maxTick).map((tick) => (
          <span key={tick} className="waterfall-tick number" style={{ left: percent(tick / length) }}>
            {durationText(tick)}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: its buttons take the keys, the list only hears them */}
      <div ref={list} className="waterfall-rows" onKeyDown={onKey}>
        {rows.map((row, n) => (
          <button
            key={row.key}
            type="button"
            data-key={row.key}
            className={`waterfall-row pick waterfall-row-${row.kind}`}
            aria-current={row.key === chosen ? "true" : undefined}
            tabIndex={n === Math.min(focused, rows.length - 1) ? 0 : -1}
            onFocus={() => setFocused(n)}
            onClick={() => onChoose(row)}
          >
            <span className="waterfall-label" style={{ paddingLeft: `${row.depth * 14}px` }}>
              <span className={`waterfall-dot waterfall-is-${row.state}`} aria-hidden />
              <span className="waterfall-name cut">
                {row.label}
                {row.note !== undefined && <span className="waterfall-note note"> {row.note}</span>}
              </span>
              {row.tokens && <span className="waterfall-tokens number">{tokenText(row)}</span>}
              <span className="visually-hidden">{spokenOf(row, start)}</span>
            </span>
            <span className="waterfall-track" aria-hidden>
              <Bar row={row} start={start} length={length} />
            </span>
            <span className="waterfall-time note number" aria-hidden>
              {row.isExact ? "" : "≤ "}
              {durationText(row.end - row.start)}
            </span>
          </button>
        ))}
      </div>
    </div>
  )
}

function Bar({ row, start, length }: { row: Row; start: number; length: number }) {
  const from = (row.start - start) / length
  const width = (row.end - row.start) / length
  const exactness = row.isExact ? "" : " waterfall-bar-about"
  return (
    <span
      className={`waterfall-bar waterfall-bar-${row.kind} waterfall-is-${row.state}${exactness}`}
      style={{ left: percent(from), width: `max(3px, ${percent(width)})` }}
    />
  )
}

const percent = (part: number): string => `${Math.round(part * 10_000) / 100}%`

const tokenText = ({ tokens }: Row): string =>
  tokens === undefined
    ? ""
    : tokens.unknown === tokens.calls
      ? ""
      : `${countText(tokens.input)} → ${countText(tokens.output)}`

const stateWords = {
  done: "done",
  running: "executing",
  error: "failed",
  interrupted: "interrupted",
  lost: "lost",
  waiting: "waiting",
}

function spokenOf({ state, start, end, note, error, tokens }: Row, origin: number): string {
  const parts = [
    stateWords[state],
    `after ${durationText(start - origin)}`,
    `for ${durationText(end - start)}`,
    tokens && `${tokens.input} tokens in, ${tokens.output} out`,
    note,
    error,
  ]
  return ` ${parts.filter(Boolean).join(", ")}`
}

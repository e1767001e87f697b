/** A list of which only the rows in view exist in the page, so that ten thousand are as quick as ten. The arrow keys lead from row to row. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { type FocusEvent, type KeyboardEvent, type ReactNode, useCallback, useEffect, useRef, useState } from "react"
import { rowAfter } from "./list-keys.js"

interface LongListOptions {
  readonly count: number
  /** In pixels. */
  readonly rowHeight: number
  /** What a row shows, where rows move: the same for the same thing. */
  readonly keyOf?: (index: number) => Key
}

type Key = number | string

const ownPlace = (index: number): Key => index

export type LongListState = ReturnType<typeof useLongList>

export function useLongList({ count, rowHeight, keyOf = ownPlace }: LongListOptions) {
  const scroller = useRef<HTMLDivElement>(null)
  const [chosen, setChosen] = useState<{ readonly index: number; readonly key: Key } | undefined>()
  const current = Math.min(chosen ? placeOf(chosen, count, keyOf) : 0, count - 1)
  const choose = useCallback((index: number) => setChosen({ index, key: keyOf(index) }), [keyOf])
  const moved = useRef(false)
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    getItemKey: keyOf,
  })
  const items = rows.getVirtualItems()
  const onKeyDown = (event: KeyboardEvent) => {
    const inView = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 1)
    const next = rowAfter(event.key, current, count, inView)
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    moved.current = true
    choose(next)
    rows.scrollToIndex(next)
  }
  // The row of a far jump comes into being with the scrolling, and takes the focus then. While the list settles its element may be replaced or
  // removed once more, which loses the focus, so the row gets it again until the person goes elsewhere.
  useEffect(() => {
    if (!moved.current) return
    const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${current}"]`)
    if (row && !row.closest("li")?.contains(document.activeElement)) row.focus({ preventScroll: true })
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
  return {
    count,
    rowHeight,
    scroller,
    items,
    height: rows.getTotalSize(),
    /** The rows that exist. */
    first: items[0]?.index ?? 0,
    last: items.at(-1)?.index ?? 0,
    current,
    choose,
    keyOf,
    onKeyDown,
    onBlur,
  }
}

/** Where the chosen row is now; where it was, when it is gone. */
function placeOf(
  { index, key }: { readonly index: number; readonly key: Key },
  count: number,
  keyOf: (index: number) => Key,
): number {
  if (index < count && keyOf(index) === key) return index
  for (let place = 0; place < count; place++) if (keyOf(place) === key) return place
  return index
}

interface LongListProps {
  readonly list: LongListState
  readonly label: string
  /** More rows follow than `count` says. */
  readonly isOpen?: boolean
  readonly row: (index: number, isCurrent: boolean) => ReactNode
}

export const LongList = ({ list, label, isOpen = false, row }: LongListProps) => (
  <div ref={list.scroller} className="long-list">
    <ul
      className="long-list-rows"
      aria-label={label}
      style={{ height: list.height }}
      onKeyDown={list.onKeyDown}
      onBlur={list.onBlur}
    >
      {list.items.map(({ index, start }) => (
        <li
          key={list.keyOf(index)}
          className="long-list-row"
          style={{ transform: `translateY(${start}px)`, height: list.rowHeight }}
          aria-setsize={isOpen ? -1 : list.count}
          aria-posinset={index + 1}
        >
          {row(index, index === list.current)}
        </li>
      ))}
    </ul>
  </div>
)

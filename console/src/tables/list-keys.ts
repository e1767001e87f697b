/** Where the keys of a long list lead. Pure. */

/** @returns the row that the key leads to; undefined for a key that is none of the list's */
export function rowAfter(key: string, current: number, rows: number, rowsInView: number): number | undefined {
  const last = rows - 1
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: current + 1,
    ArrowUp: current - 1,
    PageDown: current + rowsInView,
    PageUp: current - rowsInView,
    Home: 0,
    End: last,
  }
  const target = targets[key]
  return target === undefined ? undefined : Math.max(0, Math.min(last, target))
}

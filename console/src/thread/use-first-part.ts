/** Draws a long conversation from its end: the newest messages at once, the older ones bit by bit, so that no task of the page takes long. */
import { startTransition, useEffect, useState } from "react"

const [partsAtOnce, partsPerTask] = [3, 1]

/** @returns  the first part that is drawn, counted from 0 */
export function useFirstPart(parts: number): number {
  const [drawn, setDrawn] = useState(partsAtOnce)
  useEffect(() => {
    if (parts === 0 || drawn === Number.POSITIVE_INFINITY) return
    // Once all are drawn they stay, also when there are more.
    startTransition(() => setDrawn(drawn >= parts ? Number.POSITIVE_INFINITY : drawn + partsPerTask))
  }, [parts, drawn])
  return Math.max(0, parts - drawn)
}

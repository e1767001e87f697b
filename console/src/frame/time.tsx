/** Times as people read them. */
import { useSyncExternalStore } from "react"
import { exactly, relativeTime } from "./time-text.js"

interface TimeProps {
  readonly at: string
  readonly className?: string
}

/** How long ago, with the whole time behind it. */
export function Ago({ at, ...props }: TimeProps) {
  useSyncExternalStore(onTick, () => ticks)
  return (
    <time {...props} dateTime={at} title={exactly(at)}>
      {relativeTime(Date.parse(at), Date.now())}
    </time>
  )
}

/** The whole time. */
export const Exactly = ({ at, ...props }: TimeProps) => (
  <time {...props} dateTime={at}>
    {exactly(at)}
  </time>
)

const tickMs = 10_000

/** One timer for all times of a page. */
let ticks = 0
let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

function onTick(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    ticks++
    for (const each of listeners) each()
  }, tickMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** A time as people read it, with the exact one behind it. */
import { useEffect, useState } from "react"
import { relativeTime } from "./time-text.js"

const tickMs = 10_000

export function Ago({ at }: { at: string }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), tickMs)
    return () => clearInterval(timer)
  }, [])
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {relativeTime(Date.parse(at), now)}
    </time>
  )
}

/** Says that a page shows what it read earlier, since it cannot read it again. Without it the page would look up to date. */
import { focusManager, notifyManager, type Query, useQueryClient } from "@tanstack/react-query"
import { useCallback, useEffect, useSyncExternalStore } from "react"
import { Exactly } from "../frame/time.js"
import { agentFailureOf } from "../requests/client-error.js"

// Not all that a page shows is read at an interval of its own.
const retryMs = 10_000

const isStale = ({ state: { data, status, fetchStatus } }: Query): boolean =>
  data !== undefined && (status === "error" || fetchStatus === "paused")

const stale = { type: "active", predicate: isStale } as const

/** Of what the page shows. */
export function Stale() {
  const client = useQueryClient()
  const cache = client.getQueryCache()
  const subscribe = useCallback((listener: () => void) => cache.subscribe(notifyManager.batchCalls(listener)), [cache])
  const oldest = useSyncExternalStore(
    subscribe,
    () => cache.findAll(stale).sort((a, b) => a.state.dataUpdatedAt - b.state.dataUpdatedAt)[0]?.state,
  )
  const isShown = oldest !== undefined
  useEffect(() => {
    if (!isShown) return
    const readAgain = () => focusManager.isFocused() && client.refetchQueries(stale, { cancelRefetch: false })
    const timer = setInterval(readAgain, retryMs)
    return () => clearInterval(timer)
  }, [isShown, client])
  if (!isShown) return null
  return (
    <p className="stale" role="status">
      Not up to date since <Exactly at={new Date(oldest.dataUpdatedAt).toISOString()} />: {reasonOf(oldest.error)}. It
      is tried again every {retryMs / 1000} s.
    </p>
  )
}

/** @param error  null when the browser knows that it has no network */
function reasonOf(error: Error | null): string {
  if (error === null) return "you are offline"
  if (error instanceof TypeError || error.name === "ConnectionError") return "Superstep does not answer"
  return (agentFailureOf(error) ?? error).message.replace(/\.$/, "")
}

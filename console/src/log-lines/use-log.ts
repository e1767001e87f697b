/**
 * A log as a page shows it: what is stored, then each new line. The place in the log is the id of the last line, so a reload, a
 * lost connection and a restart of the server neither lose a line nor repeat one.
 */
import { useEffect, useReducer, useRef } from "react"
import type { LogLine } from "../platform/types.js"
import type { Platform } from "../platform/use-platform.js"
import { jsonOf } from "../requests/api-error.js"
import { eventsOf } from "./server-sent-events.js"

export interface LogState {
  readonly lines: readonly LogLine[]
  readonly isLoading: boolean
  /** Whether new lines arrive by themselves at this moment. */
  readonly isLive: boolean
  /** Whether older lines are left out. */
  readonly isCut: boolean
  readonly error: unknown
}

type Change =
  | { readonly kind: "lines"; readonly lines: readonly LogLine[] }
  | { readonly kind: "live" }
  | { readonly kind: "cut" }
  | { readonly kind: "restart" }
  | { readonly kind: "failed"; readonly error: unknown }

const empty: LogState = { lines: [], isLoading: true, isLive: false, isCut: false, error: undefined }

// More would make the page heavy; the older ones are in the API and in `superstep logs`.
const mostLines = 20_000

function changed(state: LogState, change: Change): LogState {
  if (change.kind === "restart") return empty
  if (change.kind === "live") return { ...state, isLoading: false, isLive: true, error: undefined }
  if (change.kind === "failed") return { ...state, isLoading: false, isLive: false, error: change.error }
  if (change.kind === "cut") return { ...state, isCut: true }
  const lines = [...state.lines, ...change.lines]
  return { ...state, lines: lines.slice(-mostLines), isCut: state.isCut || lines.length > mostLines }
}

export interface LogAddress {
  /** The path of the log, such as `/v2/deployments/<id>/logs`. */
  readonly path: string
  /** Filters, such as `type=build&level=ERROR`. */
  readonly query: string
  /** How many of the newest lines are shown first. */
  readonly tail: number
}

const retryMs = 2000

/** Follows a log while the component is shown. A change of the address starts anew. */
export function useLog({ api }: Pick<Platform, "api">, { path, query, tail }: LogAddress): LogState {
  const [state, change] = useReducer(changed, empty)
  const waiting = useRef<LogLine[]>([])
  useEffect(() => {
    const stop = new AbortController()
    change({ kind: "restart" })
    // Lines may arrive by the thousand; the page is drawn once for all that came since.
    const flush = () => {
      if (waiting.current.length > 0) change({ kind: "lines", lines: waiting.current.splice(0) })
    }
    const timer = setInterval(flush, 100)
    let lastId: string | undefined
    const follow = async () => {
      const isFirst = lastId === undefined
      const where = isFirst ? `tail=${tail}` : `last_event_id=${lastId}`
      const reply = await api(`${path}/stream?${query}&${where}`, { signal: stop.signal })
      if (!reply.ok || !reply.body) return void (await jsonOf(reply))
      change({ kind: "live" })
      // The header has whole seconds.
      const openedAt = Date.parse(reply.headers.get("date") ?? "") + 1000
      let stored = 0
      for await (const { id, data } of eventsOf(reply.body)) {
        lastId = id
        const line = JSON.parse(data) as LogLine
        waiting.current.push(line)
        if (isFirst && Date.parse(line.timestamp) < openedAt && ++stored === tail) change({ kind: "cut" })
      }
    }
    const keepFollowing = async () => {
      while (!stop.signal.aborted) {
        await follow().catch((error: unknown) => {
          if (!stop.signal.aborted) change({ kind: "failed", error })
        })
        flush()
        if (!stop.signal.aborted) await new Promise((done) => setTimeout(done, retryMs))
      }
    }
    void keepFollowing()
    return () => {
      stop.abort()
      clearInterval(timer)
      waiting.current = []
    }
  }, [api, path, query, tail])
  return state
}

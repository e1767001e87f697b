/**
 * What the control plane asks of a unit (protocol/unit), answered for a guest. A guest has no runs, threads or traffic that we know of: it
 * is busy while a request is open, and it serves once it was told to.
 */
import type { ServerResponse } from "node:http"
import type { Idle, Orphans, Status } from "@superstep/protocol/unit/replies"
import type { GuestHealth } from "./guest-health.js"

export interface AnswersOptions {
  readonly revisionId: string
  readonly health: GuestHealth
  /** Requests and WebSockets that the guest has. */
  readonly open: () => number
}

export interface InternalRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly response: ServerResponse
}

// A control plane that watches asks for a sign of life every few seconds, and never for less than this.
const leastHeartbeatMs = 100
// How long it waits at most until the guest is ready.
const mostWaitMs = 60_000
// Open requests come and go: this often is enough to know whether there are some.
const countMs = 1000

/** @returns  answers a request whose path begins with `/internal/` */
export function internalAnswers({ revisionId, health, open }: AnswersOptions): (asked: InternalRequest) => void {
  let isServing = false
  const activated = new Set<() => void>()

  const status = (): Status => ({
    revision_id: revisionId,
    pid: process.pid,
    ready: health.isReady(),
    graphs: [],
    failed: [],
    serving: isServing,
    traffic: isServing ? [{ revision_id: revisionId, weight: null }] : [],
    runs: { ended: 0, failed: 0 },
    executes_pinned: true,
    running_runs: 0,
    open_streams: open(),
    cross_origin: null,
    worker_crashes: { count: 0, last: null },
  })

  const statusOnce = (response: ServerResponse, waitMs: number): void => {
    const answer = () => {
      clearTimeout(timer)
      unwatch()
      if (!response.headersSent) reply(response, 200, status())
    }
    const unwatch = health.watch(() => health.isReady() && answer())
    const timer = setTimeout(answer, health.isReady() ? 0 : Math.min(waitMs, mostWaitMs))
    response.once("close", answer)
  }

  /**
   * A guest that answers nothing gets no sign of life from us: the control plane then asks `/internal/live`. When nothing listens any more, the
   * reply ends, since the control plane then looks whether the container runs.
   */
  const watchStatus = (response: ServerResponse, heartbeatMs: number): void => {
    response.writeHead(200, { "content-type": "application/x-ndjson" })
    const wasGone = health.isGone()
    let last = ""
    const send = () => {
      if (health.isGone() && !wasGone) return void response.end()
      const next = JSON.stringify(status())
      if (next === last || !health.isResponsive()) return
      last = next
      response.write(`${next}\n`)
    }
    const beat = () => health.isResponsive() && response.write("\n")
    const timers = [setInterval(send, countMs), setInterval(beat, Math.max(leastHeartbeatMs, heartbeatMs))]
    const unwatch = health.watch(send)
    activated.add(send)
    response.once("close", () => {
      for (const timer of timers) clearInterval(timer)
      unwatch()
      activated.delete(send)
    })
    send()
  }

  /** Asked where the guest was silent: our own life proves nothing. No answer is the answer, as of any unit that hangs. */
  const live = (response: ServerResponse): void => {
    const answer = () => {
      if (health.isResponsive() && !response.headersSent) reply(response, 204)
    }
    response.once("close", health.watch(answer))
    answer()
  }

  return ({ method, path, query, response }) => {
    if (path === "/internal/status" && query.has("watch")) return watchStatus(response, Number(query.get("watch")))
    if (path === "/internal/status") return statusOnce(response, Number(query.get("wait_ms") ?? 0))
    if (path === "/internal/live") return live(response)
    if (path === "/internal/idle")
      return reply(response, 200, { is_idle: open() === 0, next_due_ms: null } satisfies Idle)
    if (path === "/internal/orphans")
      return reply(response, 200, { checked: 0, orphaned: 0, examples: [], is_complete: true } satisfies Orphans)
    if (path === "/internal/activate" && method === "POST") {
      isServing = true
      for (const send of activated) send()
      return reply(response, 204)
    }
    // Nothing is pinned where nobody knows threads: 404 says so.
    reply(response, 404, { detail: "this unit runs an image that somebody else built" })
  }
}

export function reply(response: ServerResponse, status: number, body?: unknown): void {
  response.writeHead(status, body === undefined ? {} : { "content-type": "application/json" })
  response.end(body === undefined ? undefined : JSON.stringify(body))
}

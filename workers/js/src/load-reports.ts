/** Tells the server how much this process has to do while runs execute: it gives new runs by that. */
import { type EventLoopUtilization, performance } from "node:perf_hooks"
import type { Connection } from "./connection.js"

// Several times within what a person notices, and far more than the frame costs.
const everyMs = 100

export class LoadReports {
  readonly #connection: Pick<Connection, "send">
  #timer: NodeJS.Timeout | undefined
  #last: EventLoopUtilization = performance.eventLoopUtilization()

  constructor(connection: Pick<Connection, "send">) {
    this.#connection = connection
  }

  /** Reports from now on; does nothing when it does so already. */
  start(): void {
    if (this.#timer) return
    this.#last = performance.eventLoopUtilization()
    this.#timer = setInterval(() => this.#report(), everyMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #report(): void {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, this.#last)
    this.#last = now
    const memory_mb = Math.round(process.memoryUsage.rss() / 1024 ** 2)
    this.#connection.send({ type: "load_report", busy: Math.round(utilization * 1000) / 1000, memory_mb })
  }
}

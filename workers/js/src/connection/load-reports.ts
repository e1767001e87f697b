/** Reports this process's load to the server while runs execute; the server distributes new runs by it. */
import { type EventLoopUtilization, performance } from "node:perf_hooks"
import type { Connection } from "./connection.js"

// Short enough that a person does not notice the delay, and long compared to the cost of a frame.
const everyMs = 100

export class LoadReports {
  readonly #connection: Pick<Connection, "send">
  #timer: NodeJS.Timeout | undefined
  #last: EventLoopUtilization = performance.eventLoopUtilization()

  constructor(connection: Pick<Connection, "send">) {
    this.#connection = connection
  }

  /** Starts reporting; does nothing if it has already started. */
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

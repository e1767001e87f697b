/**
 * Metrics of the process, under the names that common Prometheus dashboards use. They are read at a scrape. prom-client's
 * default metrics are not used: they also observe every garbage collection and run a timer.
 */
import { performance } from "node:perf_hooks"
import { Counter, Gauge, type Registry } from "prom-client"

export function addProcessMetrics(registry: Registry): void {
  const add = (name: string, help: string, read: () => number) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  }
  let before = performance.eventLoopUtilization()
  new Counter({
    name: "process_cpu_seconds_total",
    help: "Processor time of the server's process.",
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage()
      this.reset()
      this.inc((user + system) / 1e6)
    },
  })
  add("process_resident_memory_bytes", "Memory of the server's process; workers have their own.", () =>
    process.memoryUsage.rss(),
  )
  add(
    "process_start_time_seconds",
    "Start time of the process, in seconds since the Unix epoch.",
    () => performance.timeOrigin / 1000,
  )
  add("nodejs_heap_size_used_bytes", "Used size of the JavaScript heap.", () => process.memoryUsage().heapUsed)
  add("nodejs_eventloop_utilization", "Utilization of the event loop since the last scrape, from 0 to 1.", () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    return utilization
  })
}

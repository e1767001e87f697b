/** What a soak proves: nothing that a server holds grows with the runs it has executed. Pure. */
import type { Sample } from "./sample.js"
import type { Soak } from "./soak.js"

const megabyte = 1024 * 1024

// Heaps after everything that can be freed was freed still breathe by some hundred KB (caches, compiled code). Beyond
// that each run may leave 2 KB: measured over 3,000 runs are 0.3 KB in a server and nothing in a worker, and one
// forgotten request with its subscriber is more than 4 KB.
const breathing = 2 * megabyte
const perRun = 2 * 1024
// Pages go back to the system when the allocator likes.
const residentBreathing = 48 * megabyte
// The server's pool (LANGGRAPH_POSTGRES_POOL_MAX_SIZE) and its listening connection.
const mostConnections = 11

/** @returns one sentence for each thing that is wrong */
export function problemsOf({ samples, runs, failures }: Soak): string[] {
  const problems = [...failures]
  const [first, last] = [samples[0], samples.at(-1)]
  if (!first || !last || samples.length < 2) return [...problems, "a soak needs at least two rounds to compare"]
  // The first half fills caches and lets the heap find its size.
  const from = Math.floor(samples.length / 2) - (samples.length < 4 ? 1 : 0)
  const grown = (what: string, measure: (sample: Sample) => number | undefined, tolerance: number) => {
    const points = samples.slice(from).flatMap((sample, index): [number, number][] => {
      const bytes = measure(sample)
      return bytes === undefined ? [] : [[runs[from + index] ?? 0, bytes]]
    })
    const { rise, over } = trend(points)
    const allowed = tolerance + over * perRun
    if (rise > allowed) problems.push(`${what} grew by ${mb(rise)} over ${over} runs, and ${mb(allowed)} are allowed`)
  }
  grown("the server's heap", ({ heapBytes }) => heapBytes, breathing)
  grown("the server's buffers", ({ externalBytes }) => externalBytes, breathing)
  grown("the server's resident memory", ({ residentBytes }) => residentBytes, residentBreathing)
  for (const pid of first.workers.keys()) {
    if (!last.workers.has(pid)) continue
    grown(`the heap of worker ${pid}`, ({ workers }) => workers.get(pid)?.heapBytes, breathing)
    grown(`the resident memory of worker ${pid}`, ({ workers }) => workers.get(pid)?.residentBytes, residentBreathing)
  }
  // Node itself opens and closes one now and then.
  if (last.files > first.files + 2) problems.push(`${last.files} files are open, and ${first.files} were`)
  if (last.processes !== first.processes) problems.push(`${last.processes} processes, and ${first.processes} before`)
  const connections = Math.max(...samples.map(({ databaseConnections }) => databaseConnections))
  if (connections > mostConnections) problems.push(`${connections} connections to the database`)
  return problems
}

/** How far the line through the points (runs, bytes) rises from the first to the last: least squares. */
function trend(points: readonly (readonly [number, number])[]): { rise: number; over: number } {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(([runs]) => runs)), mean(points.map(([, bytes]) => bytes))]
  const spread = points.reduce((sum, [runs]) => sum + (runs - x) ** 2, 0)
  const slope = spread === 0 ? 0 : points.reduce((sum, [runs, bytes]) => sum + (runs - x) * (bytes - y), 0) / spread
  const over = (points.at(-1)?.[0] ?? 0) - (points[0]?.[0] ?? 0)
  return { rise: slope * over, over }
}

const mb = (bytes: number): string => `${(bytes / megabyte).toFixed(1)} MB`

/** The type of a scenario, and requests that several scenarios share. */
import { setTimeout as sleep } from "node:timers/promises"
import { BenchFailed, callJson, type StreamedRun, type Target } from "../http-client.js"
import type { SystemName } from "../options.js"
import { cpuOf, treeOf } from "../process-usage.js"
import type { Cleanup } from "../processes.js"
import type { System } from "../systems/system.js"

/** One figure. */
export interface Metric {
  readonly key: string
  readonly label: string
  readonly unit: "ms" | "/s" | "MB" | "%" | ""
  readonly better: "low" | "high"
  /** Computed from the samples of a round; p50 by default. */
  readonly statistic?: "p50" | "p99"
}

/** The result of one call of `run`, by metric key. */
export type Sample = Readonly<Record<string, number>>

export interface Scenario {
  readonly name: string
  readonly metrics: readonly Metric[]
  readonly systems: readonly SystemName[]
  /** Calls before the measurement. */
  readonly warmUps: number
  /** Sequential calls in one round. */
  readonly requests: number
  /** Maximum number of rounds, for scenarios that take long. */
  readonly maxRounds?: number
  /**
   * Prepares, measures and checks the result.
   * @param cleanup  stops what the scenario starts, also when it is interrupted
   * @throws BenchFailed  when a result is wrong
   */
  run(system: System, cleanup: Cleanup): Promise<Sample>
}

export const everywhere: readonly SystemName[] = ["floor", "server", "untraced", "proxy", "edge", "peer"]
export const withoutEdge: readonly SystemName[] = ["floor", "server", "untraced", "peer"]
/** Those with graphs in Python. */
export const pythonToo: readonly SystemName[] = ["python-floor", "python"]

export const userSays = (content: string) => ({ messages: [{ role: "user", content }] })

export async function createThread(target: Target): Promise<string> {
  const thread = (await callJson(target, "POST", "/threads", {})) as { thread_id: string }
  return thread.thread_id
}

export async function createRun(target: Target, threadId: string, body: unknown): Promise<string> {
  const run = (await callJson(target, "POST", `/threads/${threadId}/runs`, body)) as { run_id: string }
  return run.run_id
}

export interface RunRow {
  readonly status: string
  readonly updated_at: string
}

export const getRun = async (target: Target, threadId: string, runId: string): Promise<RunRow> =>
  (await callJson(target, "GET", `/threads/${threadId}/runs/${runId}`)) as RunRow

export const isFinal = ({ status }: RunRow): boolean => status !== "pending" && status !== "running"

// No measured time depends on this interval.
const pollMs = 20

export async function untilEnded(target: Target, run: { threadId: string; runId: string }): Promise<RunRow> {
  for (;;) {
    const row = await getRun(target, run.threadId, run.runId)
    if (isFinal(row)) return row
    await sleep(pollMs)
  }
}

/** The values of a thread's current state. */
export async function stateOf<T>(target: Target, threadId: string): Promise<T> {
  return ((await callJson(target, "GET", `/threads/${threadId}/state`)) as { values: T }).values
}

/** Checks that a stream starts with `metadata`, contains no error, and ends correctly. */
export function checkFrame({ saysEnd }: System, { events, isWhole }: StreamedRun): void {
  const names = events.map(({ name }) => name)
  const isFramed = isWhole && names[0] === "metadata" && (!saysEnd || names.at(-1) === "end")
  check(isFramed, `unexpected events: ${names.slice(0, 3)} … ${names.slice(-3)}`)
  const error = events.find(({ name }) => name === "error")
  check(error === undefined, `the run failed: ${error?.data}`)
}

export function checkLast(messages: readonly unknown[] | undefined, content: string, count = 2): void {
  check(messages?.length === count, `the state has ${messages?.length} messages instead of ${count}`)
  check(contentOf(messages?.at(-1)) === content, "the last message is not the graph's output")
}

export function contentOf(message: unknown): string {
  const content = typeof message === "object" && message !== null && "content" in message ? message.content : undefined
  return typeof content === "string" ? content : ""
}

export function check(isTrue: boolean, problem: string): asserts isTrue {
  if (!isTrue) throw new BenchFailed(problem)
}

export interface Spent<T> {
  readonly result: T
  /** Of all processes of the system, with its Postgres and without the load generator, for each part of the work. */
  readonly cpuMs: number
}

/** @param parts  by how many the processor time is divided: Linux counts it in steps of 10 ms, so it takes many */
export async function spending<T>({ pids }: System, parts: number, work: () => Promise<T>): Promise<Spent<T>> {
  const now = async () => cpuOf(await treeOf(pids))
  const before = await now()
  const result = await work()
  return { result, cpuMs: ((await now()) - before) / parts }
}

/** Runs `work` for each index, at most `concurrency` at a time. @returns  the results in the order of the indexes */
export async function inParallel<T>(
  concurrency: number,
  count: number,
  work: (index: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = new Array(count)
  let next = 0
  const worker = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index)
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, worker))
  return results
}

/** What a scenario is, and what several of them ask of a system. */
import { setTimeout as sleep } from "node:timers/promises"
import { BenchFailed, callJson, type StreamedRun, type Target } from "../http-client.js"
import type { Cleanup } from "../processes.js"
import type { System, SystemName } from "../systems/system.js"

/** One figure. */
export interface Metric {
  readonly key: string
  readonly label: string
  readonly unit: "ms" | "/s" | "MB" | "%" | ""
  readonly better: "low" | "high"
  /** Of a round's samples; p50 when not given. */
  readonly statistic?: "p50" | "p99"
}

/** What one call of `run` found, by the metrics' keys. */
export type Sample = Readonly<Record<string, number>>

export interface Scenario {
  readonly name: string
  readonly metrics: readonly Metric[]
  readonly systems: readonly SystemName[]
  /** Calls before anything is measured. */
  readonly warmUps: number
  /** Calls in one round, one after the other. */
  readonly requests: number
  /** At most so many rounds, where one takes long. */
  readonly mostRounds?: number
  /**
   * From the preparation to the checks.
   * @param cleanup  takes what must end with the scenario, should it be interrupted
   * @throws BenchFailed  when an answer is wrong
   */
  run(system: System, cleanup: Cleanup): Promise<Sample>
}

export const everywhere: readonly SystemName[] = ["floor", "server", "edge", "peer"]
export const withoutEdge: readonly SystemName[] = ["floor", "server", "peer"]

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

// Often enough for what waits here, which is never on the clock.
const pollMs = 20

export async function untilEnded(target: Target, run: { threadId: string; runId: string }): Promise<RunRow> {
  for (;;) {
    const row = await getRun(target, run.threadId, run.runId)
    if (isFinal(row)) return row
    await sleep(pollMs)
  }
}

/** The values of a thread's newest state. */
export async function stateOf<T>(target: Target, threadId: string): Promise<T> {
  return ((await callJson(target, "GET", `/threads/${threadId}/state`)) as { values: T }).values
}

/** A stream begins with `metadata`, holds no error, and ends as the system's streams do. */
export function checkFrame({ saysEnd }: System, { events, isWhole }: StreamedRun): void {
  const names = events.map(({ name }) => name)
  const isFramed = isWhole && names[0] === "metadata" && (!saysEnd || names.at(-1) === "end")
  check(isFramed, `the stream is ${names.slice(0, 3)} … ${names.slice(-3)}`)
  const error = events.find(({ name }) => name === "error")
  check(error === undefined, `the run failed: ${error?.data}`)
}

export function checkLast(messages: readonly unknown[] | undefined, content: string, count = 2): void {
  check(messages?.length === count, `the state has ${messages?.length} messages instead of ${count}`)
  check(contentOf(messages?.at(-1)) === content, "the last message is not the graph's answer")
}

export function contentOf(message: unknown): string {
  const content = typeof message === "object" && message !== null && "content" in message ? message.content : undefined
  return typeof content === "string" ? content : ""
}

export function check(isTrue: boolean, problem: string): asserts isTrue {
  if (!isTrue) throw new BenchFailed(problem)
}

/** Does all the work with so many hands at a time. @returns  the results in the order of the work */
export async function inParallel<T>(hands: number, count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = new Array(count)
  let next = 0
  const hand = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index)
  }
  await Promise.all(Array.from({ length: Math.min(hands, count) }, hand))
  return results
}

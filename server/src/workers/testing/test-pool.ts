/** A pool of fake workers, and runs for it. Everything ends with `await using`. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { createLog } from "@superstep/toolkit/log/log"
import { until } from "@superstep/toolkit/testing/until"
import { createWorkerPool, type WorkerPool, type WorkerPoolOptions } from "../pool.js"
import type { LoadReport, RunListener, RunOrder, RunResult } from "../port.js"
import { ProjectCrashes } from "../project-crashes.js"
import type { Step } from "./fake-worker.js"

const fakeWorker = fileURLToPath(new URL("./fake-worker.js", import.meta.url))

/** The calls of a run's listener, in order. */
export interface RecordedCalls {
  readonly events: { readonly event: string; readonly data: unknown }[]
  readonly ends: ({ readonly done: RunResult } | { readonly lost: string; readonly detail: string })[]
}

export interface TestPool extends AsyncDisposable {
  readonly pool: WorkerPool
  readonly report: LoadReport
  /** Executes a run and records its events and its end. */
  run(steps: readonly Step[], over?: Partial<RunOrder>): RecordedCalls & { readonly order: RunOrder }
}

export const project = (graphs: Record<string, string> = { chat: "./chat:graph" }) => ({
  folder: tmpdir(),
  graphs,
  env: {},
})

export const createTestPool = (over: Partial<WorkerPoolOptions> = {}): WorkerPool =>
  createWorkerPool({
    project: project(),
    workers: 1,
    handlers: {},
    serverEnv: process.env,
    crashes: new ProjectCrashes(),
    log: createLog({ process: "test", level: "silent" }),
    main: fakeWorker,
    ...over,
    // A fake worker reports no load unless a run's steps contain a report.
    limits: { maxRuns: 4, overloadMs: 600_000, ...over.limits },
  })

export async function startTestPool(over: Partial<WorkerPoolOptions> = {}): Promise<TestPool> {
  const pool = createTestPool(over)
  const report = await pool.start()
  const run: TestPool["run"] = (steps, orderOver = {}) => {
    const order = runOrder(steps, orderOver)
    const told: RecordedCalls = { events: [], ends: [] }
    pool.execute(order, recordCalls(told))
    return { ...told, order }
  }
  return { pool, report, run, [Symbol.asyncDispose]: () => pool.stop(0) }
}

export const recordCalls = ({ events, ends }: RecordedCalls): RunListener => ({
  onEvent: (event, data) => void events.push({ event, data: JSON.parse(data.toString("utf8")) }),
  onDone: (done) => ends.push({ done }),
  onSpans: () => undefined,
  onLost: (lost, detail) => ends.push({ lost, detail }),
})

export const runOrder = (steps: readonly Step[], over: Partial<RunOrder> = {}): RunOrder => ({
  runId: randomUUID(),
  claimId: randomUUID(),
  threadId: randomUUID(),
  attempt: 1,
  graphId: "chat",
  streamModes: ["values"],
  streamSubgraphs: false,
  durability: "async",
  interruptBefore: undefined,
  interruptAfter: undefined,
  hasCheckpoint: false,
  runsAlone: false,
  input: JSON.stringify(steps),
  command: "",
  config: "{}",
  context: "{}",
  ...over,
})

/** Makes a pool start its second worker, by filling the first one (P20); both are idle afterwards. */
export async function startSecondWorker({ pool, run }: TestPool): Promise<void> {
  const runs = Array.from({ length: pool.freeSlots() }, () => run([{ do: "wait" }]))
  await until(() => pool.freeSlots() > 0, { what: "the second worker serves" })
  for (const { order } of runs) pool.cancel(order.claimId)
  for (const one of runs) await endOf(one)
}

/** Waits for the only end of a run. */
export async function endOf(told: RecordedCalls) {
  await until(() => told.ends.length > 0, { what: "the run has ended" })
  return told.ends[0]
}

/** How a run was lost. */
export async function lossOf(told: RecordedCalls) {
  const end = await endOf(told)
  return end && "lost" in end ? end : assert.fail(`the run was not lost: ${JSON.stringify(end)}`)
}

export async function resultOf(told: RecordedCalls): Promise<RunResult> {
  const end = await endOf(told)
  return end && "done" in end ? end.done : assert.fail(`the run was lost: ${JSON.stringify(end)}`)
}

/** The environment of a worker, told by a run with the step `environment`. */
export const environmentOf = async (told: RecordedCalls) =>
  (await seen(told, "environment")).data as Readonly<Record<string, string>>

export const seen = (told: RecordedCalls, event: string) =>
  until(() => told.events.find((one) => one.event === event), { what: `the event ${event} came` })

/** Whether a process runs: whether a signal can be delivered to it. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false
    throw error
  }
}

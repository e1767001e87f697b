/** deploy: start the revision's units and wait until all could serve. They claim no run and get no request yet. */
import { setTimeout as sleep } from "node:timers/promises"
import { lastLogLines } from "../logs/operations.js"
import type { ErrorCode } from "../revisions/revision.js"
import type { UnitSpec } from "../runtimes/port.js"
import { askStatus, type UnitReport } from "../runtimes/unit-client.js"
import { NoConnections } from "./connections.js"
import type { PipelineContext } from "./context.js"
import { recordCrash } from "./crash-queries.js"
import { DeployFailed } from "./failures.js"
import { shipUnitLog } from "./log-shipping.js"
import { tellMemoryEnd } from "./memory-end.js"
import { type UnitRow, unitById } from "./queries.js"
import type { RunStage, StageInput } from "./stage.js"
import { ensureUnits, unitAddress, unitSpec } from "./unit.js"
import { noteReport } from "./unit-report.js"

// A unit is ready within a second or so, and this is what a deployer waits for.
const pollMs = 100

export const runDeploy: RunStage = async (input) => {
  const { context, revision } = input
  context.crashPoint("deploy:begin")
  const units = await ensureUnits(context, revision).catch(asCapacity)
  context.crashPoint("deploy:after-unit-row")
  for (const unit of units) await context.runtime.start(await specOf(input, unit))
  context.crashPoint("deploy:after-start")
  await untilAllReady(input, units)
  return { kind: "next", status: "DEPLOYING", stage: "switch" }
}

/**
 * Waits until all of them could serve. One that has ended is started again.
 * @throws DeployFailed  it ends again and again, takes too long, or a graph does not load
 */
export async function untilAllReady(input: StageInput, units: readonly UnitRow[]): Promise<void> {
  const deadline = performance.now() + input.context.limits.healthMs
  // They start at the same time; which of them is looked at first does not matter.
  for (const unit of units) await untilReady(input, unit, deadline)
}

function specOf({ context, revision, deployment }: StageInput, unit: UnitRow): Promise<UnitSpec> {
  return unitSpec(context, unit, revision, deployment).catch(asCapacity)
}

function asCapacity(error: unknown): never {
  if (error instanceof NoConnections) throw new DeployFailed("capacity", error.message)
  throw error
}

async function untilReady(input: StageInput, unit: UnitRow, deadline: number): Promise<void> {
  const { context, revision, signal } = input
  let current = unit
  for (;;) {
    const report = await askStatus(unitAddress(context, unit), signal)
    if (report && judgeReport(report, revision.revision_id)) return noteReport(context, unit, report)
    if ((await context.runtime.status(unit.unit_id)).state !== "running") current = await restart(input, current)
    await shipUnitLog(context, current)
    if (performance.now() > deadline) throw new DeployFailed("health_timeout", timeoutWords(report, context))
    await sleep(pollMs, undefined, { signal })
    current = (await unitById(context.db, unit.unit_id)) ?? current
  }
}

// A unit tells of its auth module and its app as of a graph, by their place in langgraph.json (protocol/unit).
const wordsFor = (id: string): string => (id === "auth.path" || id === "http.app" ? id : `graph "${id}"`)

/** Pure. @returns whether the unit may take over  @throws DeployFailed  a graph does not load */
export function judgeReport(report: UnitReport, revisionId: string): boolean {
  if (!report.ready || report.revision_id !== revisionId) return false
  if (report.failed.length === 0) return true
  const sentences = report.failed.map(({ graph_id, message }) => `${wordsFor(graph_id)} does not load: ${message}`)
  throw new DeployFailed("graph_load_failed", sentences.join("; "))
}

// Enough to tell a bad moment from a bad program; a program that ends at once is not waited for (control-plane §6.3).
const crashesThatFail = 3
// For what it missed to come up beside it.
const pauseMs = 250
// A process without memory prints a long stack after the sentence that says so.
const linesRead = 200

const memoryWords = "the agent server used more memory than its limit before it was ready"

async function restart(input: StageInput, unit: UnitRow): Promise<UnitRow> {
  const { context, revision, signal } = input
  const crashes = unit.crashes + 1
  const isForMemory = (await tellMemoryEnd(context, unit)) || unit.last_end === "oom_killed"
  await recordCrash(context.db, unit.unit_id, crashes, 0)
  if (crashes >= crashesThatFail) {
    await shipUnitLog(context, unit)
    if (isForMemory) throw new DeployFailed("oom_killed", memoryWords)
    const said = (await lastLogLines(context.db, revision.revision_id, "deploy", linesRead)).map(
      ({ message }) => message,
    )
    throw new DeployFailed(reasonOfEnds(said), `the agent server ended ${crashes} times before it was ready`)
  }
  await sleep(pauseMs * crashes, undefined, { signal })
  await context.runtime.start(await specOf(input, unit))
  return { ...unit, crashes }
}

/** What the last lines of a process say about its end. A unit listens on a socket of its own, so no port can be in use. Pure. */
export function reasonOfEnds(lastLines: readonly string[]): ErrorCode {
  const says = (words: RegExp) => lastLines.some((line) => words.test(line))
  if (says(/JavaScript heap out of memory/)) return "oom_killed"
  return says(/the database cannot be reached/) ? "db_unreachable" : "crash_loop"
}

const timeoutWords = (report: UnitReport | undefined, { limits }: PipelineContext): string =>
  report
    ? `the agent server was not ready after ${limits.healthMs / 1000} s`
    : `the agent server did not answer for ${limits.healthMs / 1000} s`

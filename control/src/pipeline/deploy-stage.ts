/** deploy: starts the revision's units and waits until all could serve. They claim no run and get no request yet. */

import { loadFailure } from "@superstep/builder/faults/load-failure"
import { askStatus } from "@superstep/machines/unit-client/unit-client"
import type { UnitReport } from "@superstep/machines/unit-client/unit-replies"
import { loadProblems, loadSentence } from "@superstep/protocol/unit/load-failures"
import { sleepFor } from "@superstep/toolkit/time/clock"
import { crashesThatEndADeploy } from "../health/restart.js"
import { lastLogLines } from "../logs/operations.js"
import { NoConnections } from "../planner/connections.js"
import type { UnitRow } from "../planner/facts.js"
import { shipUnitLog } from "../planner/log-shipping.js"
import { unitById } from "../planner/queries.js"
import { ensureUnits, unitAddress, unitSpec } from "../planner/unit.js"
import { storeReport } from "../planner/unit-report.js"
import type { ErrorCode } from "../revisions/revision.js"
import { secretsOfRevision } from "../secrets/operations.js"
import { DeployFailed } from "./failures.js"
import type { RunStage, StageInput } from "./stage.js"

// While the unit does not listen yet; then its answer comes when it is ready.
const pollMs = 100

export const runDeploy: RunStage = async (input) => {
  const { context, revision } = input
  context.crashPoint("deploy:begin")
  const units = await ensureUnits(context, revision).catch(asCapacity)
  context.crashPoint("deploy:after-unit-row")
  for (const unit of units) await startFirst(input, unit)
  context.crashPoint("deploy:after-start")
  await untilAllReady(input, units)
  return { kind: "next", status: "DEPLOYING", stage: "switch" }
}

/** Starts a unit for the first time, so that the deployer sees why one cannot be started. The planner does all later starts. */
async function startFirst({ context, revision, deployment }: StageInput, unit: UnitRow): Promise<void> {
  const spec = await unitSpec(context, unit, revision, deployment).catch(asCapacity)
  if ((await context.machine.units.status(unit.unit_id)).state === "absent") await context.machine.units.start(spec)
}

/**
 * Waits until all units could serve.
 * @throws DeployFailed  a unit exits repeatedly, takes too long, or a graph does not load
 */
export async function untilAllReady(input: StageInput, units: readonly UnitRow[]): Promise<void> {
  const deadline = input.context.clock.now() + input.context.limits.healthMs
  // They start at the same time, so the order of waiting does not matter.
  for (const unit of units) await untilReady(input, unit, deadline)
}

function asCapacity(error: unknown): never {
  if (error instanceof NoConnections) throw new DeployFailed("capacity", error.message)
  throw error
}

async function untilReady(input: StageInput, unit: UnitRow, deadline: number): Promise<void> {
  const { context, revision, signal } = input
  const given = Object.keys(await secretsOfRevision(context.db, context.key, revision))
  let current = unit
  for (;;) {
    const report = await askStatus(unitAddress(context, unit), signal)
    if (report && judgeReport(report, revision.revision_id, given)) {
      await storeReport(context, current, report)
      return
    }
    await failIfItEndsAgainAndAgain(input, current)
    await shipUnitLog(context, current)
    if (context.clock.now() > deadline) throw new DeployFailed("health_timeout", timeoutWords(report, input))
    await sleepFor(context.clock, pollMs, signal)
    current = (await unitById(context.db, unit.unit_id)) ?? current
  }
}

/**
 * Pure.
 * @param given  the names of the deployment's variables
 * @returns      whether the unit may take over
 * @throws DeployFailed  a graph does not load
 */
export function judgeReport(report: UnitReport, revisionId: string, given: readonly string[]): boolean {
  if (!report.ready || report.revision_id !== revisionId) return false
  if (report.failed.length === 0) return true
  const problems = loadProblems(report.failed.map(({ graph_id: id, message }) => ({ id, message })))
  const messages = problems.map(({ message }) => message)
  const { code, message } = loadFailure(messages, problems.map(loadSentence).join("; "), given)
  throw new DeployFailed(code, message)
}

// Node prints a long stack after the line that reports a full heap.
const linesRead = 200

const memoryWords = "the agent server used more memory than its limit before it was ready"

async function failIfItEndsAgainAndAgain({ context, revision }: StageInput, unit: UnitRow): Promise<void> {
  if (unit.crashes < crashesThatEndADeploy) return
  await shipUnitLog(context, unit)
  if (unit.last_end === "oom_killed") throw new DeployFailed("oom_killed", memoryWords)
  const lines = await lastLogLines(context.db, revision.revision_id, "deploy", linesRead)
  const messages = lines.map(({ message }) => message)
  throw new DeployFailed(reasonOfEnds(messages), `the agent server ended ${unit.crashes} times before it was ready`)
}

/** The cause of a process's end, by its last lines. A unit listens on a socket of its own, so no port can be in use. Pure. */
export function reasonOfEnds(lastLines: readonly string[]): ErrorCode {
  const says = (words: RegExp) => lastLines.some((line) => words.test(line))
  if (says(/JavaScript heap out of memory/)) return "oom_killed"
  return says(/the database cannot be reached/) ? "db_unreachable" : "crash_loop"
}

function timeoutWords(report: UnitReport | undefined, { context, revision }: StageInput): string {
  const limit = `${context.limits.healthMs / 1000} s`
  if (!report) return `the agent server did not answer for ${limit}`
  if (revision.source === "external_docker")
    return `the image did not answer GET /ok on $PORT with a status from 200 to 299 within ${limit}`
  return `the agent server was not ready after ${limit}`
}

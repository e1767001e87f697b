/** Reads the samples: a deployment's chart, and the operator's view of everything. */
import { performance } from "node:perf_hooks"
import type { Edge } from "@superstep/edge/port"
import type { Tally } from "@superstep/edge/tallies"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { brokenRules } from "@superstep/toolkit/errors/must"
import { backupState } from "../backups/queries.js"
import { certificateExpiries } from "../host-names/certificate-queries.js"
import { countUnsent, forwardingState } from "../log-forwarding/queries.js"
import { pipelineProgress, recentEnds, recentStageTimes } from "../revisions/progress-queries.js"
import { keyHash } from "../workspaces/workspace.js"
import { type LoopLag, machineView, type Place } from "./machine.js"
import type { OperatorView } from "./prometheus.js"
import { isOperatorKey, latestSamples, runSamplesOf, stateCounts, trafficOf, unitSamplesOf } from "./queries.js"
import { byRevision, describeRuns, type RevisionRuns, type RunSample } from "./run-sample.js"
import { type Activity, type At, activityIn, type ChartPoint, chart, type UnitSample } from "./sample.js"

export interface DeploymentMetrics {
  readonly stepMs: number
  readonly points: readonly ChartPoint[]
  /** Of the whole window. */
  readonly total: Activity
  /** The newest sample of each unit of the last measurement. */
  readonly units: readonly At<UnitSample>[]
  /** Of the whole window; the revision whose runs ended last comes first. */
  readonly revisions: readonly RevisionRuns[]
}

// More points would show no more detail in a chart, and samples are ten seconds apart.
const mostPoints = 90
const sampleMs = 10_000

/** The caller has found the deployment in its workspace. @param windowMs  how far back, in milliseconds */
export async function deploymentMetrics(db: Db, deploymentId: string, windowMs: number): Promise<DeploymentMetrics> {
  const [traffic, units, runs] = await Promise.all([
    trafficOf(db, deploymentId, windowMs),
    unitSamplesOf(db, deploymentId, windowMs),
    runSamplesOf(db, deploymentId, windowMs),
  ])
  const stepMs = Math.max(1, Math.ceil(windowMs / mostPoints / sampleMs)) * sampleMs
  const lastAt = units.at(-1)?.at.getTime()
  return {
    stepMs,
    points: chart(traffic, units, runs, stepMs),
    total: activityIn(traffic),
    units: units.filter(({ at }) => at.getTime() === lastAt),
    revisions: byRevision(runs).map(describeRuns),
  }
}

export interface ViewSources {
  readonly db: Database
  readonly edgeTallies: () => Promise<Readonly<Record<string, Tally>>>
  readonly edgeTables: Edge["tables"]
  /** Runs by revision since the control plane started. */
  readonly runTotals: () => readonly RunSample[]
  readonly place: Place
  readonly loopLag: () => LoopLag
}

/** When the edge does not answer, only its own part is missing from the view. */
export async function operatorView(sources: ViewSources): Promise<OperatorView> {
  const { db, edgeTallies, edgeTables, runTotals, place, loopLag } = sources
  const [counts, samples, answered, tables, progress, stageTimes, ends, machine, forwarding, backups, hostNames] =
    await Promise.all([
      stateCounts(db),
      latestSamples(db),
      edgeTallies().catch(noneIfUnavailable),
      edgeTables(),
      pipelineProgress(db),
      recentStageTimes(db),
      recentEnds(db),
      machineView(db, place),
      forwardingView(db),
      backupState(db),
      certificateExpiries(db),
    ])
  const { user, system } = process.cpuUsage()
  const own = {
    cpuSeconds: (user + system) / 1e6,
    rssBytes: process.memoryUsage.rss(),
    startedAtSeconds: performance.timeOrigin / 1000,
  }
  const pipeline = { progress, stageTimes, ends }
  return {
    counts,
    samples,
    answered,
    tables,
    pipeline,
    machine,
    forwarding,
    backups,
    hostNames,
    runs: runTotals(),
    lag: loopLag(),
    brokenRules,
    process: own,
  }
}

async function forwardingView(db: Db): Promise<OperatorView["forwarding"]> {
  const state = await forwardingState(db)
  return state && { ...state, unsent: await countUnsent(db) }
}

function noneIfUnavailable(error: unknown): Record<string, Tally> {
  if (error instanceof Unavailable) return {}
  throw error
}

/** Whether this is a key of the whole installation. */
export const isOperator = (db: Db, clearKey: string): Promise<boolean> => isOperatorKey(db, keyHash(clearKey))

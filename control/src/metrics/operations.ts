/** Reads what was measured: a deployment's chart, and the operator's view of everything. */
import { performance } from "node:perf_hooks"
import type { Db } from "@superstep/toolkit/db/database"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { Tally } from "../edge/tallies.js"
import { keyHash } from "../workspaces/workspace.js"
import type { OperatorView } from "./prometheus.js"
import { isOperatorKey, latestSamples, stateCounts, trafficOf, unitSamplesOf } from "./queries.js"
import { type At, type ChartPoint, chart, type UnitSample } from "./sample.js"

export interface DeploymentMetrics {
  readonly stepMs: number
  readonly points: readonly ChartPoint[]
  /** The newest sample of each unit that was there at the last one. */
  readonly units: readonly At<UnitSample>[]
}

// A chart of more points shows no more, and samples are ten seconds apart.
const mostPoints = 90
const sampleMs = 10_000

/** The caller has found the deployment in its workspace. @param windowMs  how far back, in milliseconds */
export async function deploymentMetrics(db: Db, deploymentId: string, windowMs: number): Promise<DeploymentMetrics> {
  const [traffic, units] = await Promise.all([
    trafficOf(db, deploymentId, windowMs),
    unitSamplesOf(db, deploymentId, windowMs),
  ])
  const stepMs = Math.max(1, Math.ceil(windowMs / mostPoints / sampleMs)) * sampleMs
  const lastAt = units.at(-1)?.at.getTime()
  return {
    stepMs,
    points: chart(traffic, units, stepMs),
    units: units.filter(({ at }) => at.getTime() === lastAt),
  }
}

/** An edge that does not answer takes its own part out of the view, no more. */
export async function operatorView(
  db: Db,
  edgeTallies: () => Promise<Readonly<Record<string, Tally>>>,
): Promise<OperatorView> {
  const [counts, samples, answered] = await Promise.all([
    stateCounts(db),
    latestSamples(db),
    edgeTallies().catch(noneIfUnavailable),
  ])
  const { user, system } = process.cpuUsage()
  const own = {
    cpuSeconds: (user + system) / 1e6,
    rssBytes: process.memoryUsage.rss(),
    startedAtSeconds: performance.timeOrigin / 1000,
  }
  return { counts, samples, answered, process: own }
}

function noneIfUnavailable(error: unknown): Record<string, Tally> {
  if (error instanceof Unavailable) return {}
  throw error
}

/** Whether this is a key of the whole installation. */
export const isOperator = (db: Db, clearKey: string): Promise<boolean> => isOperatorKey(db, keyHash(clearKey))

/** What a server reports of itself to the control plane (protocol/unit). */
import type { ModelUse, Share, Status } from "@superstep/protocol/unit/replies"
import type { Db } from "@superstep/toolkit/db/database"
import type { PreflightRule } from "@superstep/toolkit/http/cross-origin"
import { hasUnauditedActs } from "../acts/queries.js"
import type { Streams } from "../events/streams.js"
import type { Gate } from "../gate/gate.js"
import { type CrossOrigin, preflightRuleOf } from "../http/cross-origin.js"
import type { Executor } from "../runs/executor.js"
import { type Workers, withSource } from "../workers/port.js"
import type { ProjectCrashes } from "../workers/project-crashes.js"
import { loadReport } from "./load.js"
import { findTraffic } from "./queries.js"
import type { Readiness } from "./readiness.js"
import type { OutcomeReport } from "./run-outcomes.js"

export interface StatusSources {
  readonly db: Db
  readonly workers: Pick<Workers, "report">
  readonly gate: Pick<Gate, "failures">
  readonly crashes: Pick<ProjectCrashes, "report">
  readonly executor: Pick<Executor, "running" | "freeSlots">
  readonly streams: Pick<Streams, "openStreams">
  readonly revisionId: string | null
  readonly outcomes: OutcomeReport
  /** What models used since the start of this server; null: nothing is traced, so it is not known. */
  readonly modelUse: () => ModelUse | null
  readonly readiness: Pick<Readiness, "isReady">
  /** The CORS settings, reported so that the edge can answer preflights. */
  readonly crossOrigin: CrossOrigin
}

/** This release reports all fields. */
export interface UnitStatus extends Required<Status> {
  readonly cross_origin: PreflightRule | null
}

/** What a status says of the database. */
export interface Stored {
  readonly traffic: readonly Share[]
  readonly hasActs: boolean
}

export const readStored = async (db: Db): Promise<Stored> => ({
  traffic: await findTraffic(db),
  hasActs: await hasUnauditedActs(db),
})

/** @returns  the status at the moment of a call, with what the caller has read of the database. Its load counts from call to call */
export function statusReader(sources: StatusSources): (stored: Stored) => Promise<UnitStatus> {
  const { workers, gate, crashes, executor, streams, revisionId, outcomes, modelUse, readiness, crossOrigin } = sources
  const load = loadReport(sources)
  return async ({ traffic, hasActs }) => {
    const { graphs, failed } = workers.report()
    const refused = [...failed, ...gate.failures()]
    return {
      revision_id: revisionId,
      pid: process.pid,
      ready: readiness.isReady,
      graphs,
      failed: refused.map((failure) => ({ graph_id: failure.graphId, message: withSource(failure) })),
      serving: revisionId === null || traffic.some(({ revision_id }) => revision_id === revisionId),
      traffic,
      has_acts: hasActs,
      runs: outcomes.report(),
      run_latency: outcomes.latency(),
      model_use: modelUse(),
      load: await load(),
      executes_pinned: true,
      running_runs: executor.running,
      open_streams: streams.openStreams,
      worker_crashes: crashes.report(),
      cross_origin: preflightRuleOf(crossOrigin),
    }
  }
}

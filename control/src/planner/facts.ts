/** What the planner knows of a deployment when it plans: what is wanted, what is written down, what was seen. */

import type { UnitStatus } from "@superstep/machines/port/port"
import type { Pins, UnitReport } from "@superstep/machines/unit-client/unit-replies"
import type { PreflightRule } from "@superstep/toolkit/http/cross-origin"
import type { StorableText } from "@superstep/toolkit/text/storable"
import type { Role } from "../revisions/revision.js"

export interface DeploymentFacts {
  readonly deployment_id: string
  readonly is_deleted: boolean
  readonly is_paused: boolean
  /** It sleeps, and nothing has woken it. */
  readonly is_asleep: boolean
  /** It sleeps, or is being woken. */
  readonly has_sleep: boolean
  /** When a cron or a delayed run is due that ends its sleep, in milliseconds from now. */
  readonly wake_in_ms: number | null
  /** Its type lets it sleep, or its `min_scale` is 0. */
  readonly may_sleep: boolean
  /** A stage of one of its revisions is not finished. */
  readonly is_worked_on: boolean
  /** One of its revisions is at the switch: which revision is active is about to change. */
  readonly is_switching: boolean
  /** How long threads may be pinned to a revision that serves no more, in milliseconds. */
  readonly max_pin_ms: number
  /** A canary whose runs fail more often is aborted once it has ended so many; null: none is. */
  readonly rollback_min_runs: number | null
  /** Those that have units. */
  readonly revisions: readonly RevisionFacts[]
}

export interface RevisionFacts {
  readonly revision_id: string
  readonly role: Role
  /** No stage works on it any more. */
  readonly is_settled: boolean
  /** It is at the stage that starts its units for the first time. */
  readonly is_deploying: boolean
  /** The percentage of the threads that a canary gets; 100: it is to take over; 0: it is to be aborted. Null of any other. */
  readonly weight: number | null
  /** How long ago it got its end, such as DEPLOYED, or was promoted, in milliseconds. */
  readonly settled_ms: number | null
  /** Of one that retires: until its units end in any case, in milliseconds. */
  readonly retire_in_ms: number | null
  /** How many units it has at least and at most, by its load. */
  readonly min_units: number
  readonly max_units: number
  /** How long ago a unit was added for its load, or taken away, in milliseconds; null: never. */
  readonly scaled_ms: number | null
  /** How long ago it was seen to need all its units, in milliseconds; null: never. */
  readonly loaded_ms: number | null
  /** How long it has been `pinned`, in milliseconds. */
  readonly pinned_ms: number | null
  /** What is pinned to it; undefined before it was asked for. */
  readonly pins: ObservedPins | undefined
  readonly units: readonly UnitFacts[]
}

/** A row of the table `units`. */
export interface UnitRow {
  readonly unit_id: string
  readonly deployment_id: string
  readonly revision_id: string
  /** 0, 1 … within its revision. */
  readonly ordinal: number
  /** Its revision's. */
  readonly role: Role
  readonly token_sealed: string
  /** Whether it may be sent requests once it serves. */
  readonly is_ready: boolean
  readonly last_end: "oom_killed" | null
  /** Of its own process, in a row. */
  readonly crashes: number
  /** Of its workers, in a row: those that count against the project, and why the last one ended. */
  readonly worker_crashes: number
  readonly last_worker_crash: StorableText | null
  /** It said at the last look that it is ready. */
  readonly is_answering: boolean
  /** What it says about pages of other origins; null when only the unit itself can tell. */
  readonly cross_origin: PreflightRule | null
  /** How long ago it was last to be started, in milliseconds; as long as it runs, about how long it has been up. */
  readonly up_ms: number
  /** It ended by itself, that was counted, and it was not started since. */
  readonly is_down: boolean
  /** Database connections that are set aside for it; one that runs has some. */
  readonly connections: number
  /** How long nothing was seen of it that keeps a deployment awake, in milliseconds. */
  readonly idle_ms: number
  readonly log_place: string
  /** For how long it is being taken away, in milliseconds; null: it stays. */
  readonly leaving_ms: number | null
  /** Runs that ended on it since the canary of its deployment got threads, and those that failed. */
  readonly runs_ended: number
  readonly runs_failed: number
}

export interface UnitFacts extends UnitRow {
  /** Its back-off is over, or a restart was asked for since it was started. */
  readonly may_start: boolean
  /** Until its back-off is over, in milliseconds. */
  readonly start_in_ms: number
  /** A restart was asked for since it was started. */
  readonly is_outdated: boolean
  /** Undefined before the first look, and from an action on until it was looked at again. */
  readonly seen: Observation | undefined
  /** What the edge has open on it, and for how long nothing was; undefined while the edge does not say. */
  readonly traffic: Traffic | undefined
}

export interface ObservedPins extends Pins {
  /** For how long no run waited or executed, as far as was seen, in milliseconds. */
  readonly quiet_ms: number
}

export interface Traffic {
  /** Requests, streams and WebSockets. */
  readonly open: number
  readonly idle_ms: number
}

/** What was seen of a unit at the last look. */
export interface Observation {
  readonly process: UnitStatus["state"]
  /** Somebody else ends or has ended it (machines/src/port/port.ts). */
  readonly isDisrupted?: true
  /**
   * Of one that runs: `ready`; `not ready`: it said so, or cannot be connected to; `silent`: it did not answer in time, as on a busy
   * machine; `hung`: nor did it answer the question that waits for nothing.
   */
  readonly answer: "ready" | "not ready" | "silent" | "hung" | undefined
  /** What it said of itself; undefined unless it answered. */
  readonly report: UnitReport | undefined
}

/** Facts for tests of the plan: a deployment in good order, of which a test changes what it is about. */
import type { UnitReport } from "@superstep/machines/unit-client/unit-replies"
import type { DeploymentFacts, Observation, RevisionFacts, UnitFacts } from "../facts.js"

export const absent: Observation = { process: "absent", answer: undefined, report: undefined }
export const exited: Observation = { process: "exited", answer: undefined, report: undefined }

export const reportOf = (change: Partial<UnitReport> = {}): UnitReport => ({
  revision_id: "r",
  pid: 1,
  ready: true,
  graphs: [],
  failed: [],
  serving: true,
  traffic: undefined,
  runs: { ended: 0, failed: 0 },
  load: undefined,
  executes_pinned: true,
  running_runs: 0,
  open_streams: 0,
  worker_crashes: { count: 0, last: null },
  cross_origin: null,
  ...change,
})

export const running = (answer: Observation["answer"] = "ready", change: Partial<UnitReport> = {}): Observation => ({
  process: "running",
  answer,
  report: answer === "ready" || answer === "not ready" ? reportOf({ ready: answer === "ready", ...change }) : undefined,
})

export const unitOf = (id: string, change: Partial<UnitFacts> = {}): UnitFacts => ({
  unit_id: id,
  deployment_id: "d",
  revision_id: "r",
  ordinal: 0,
  role: "serving",
  token_sealed: "",
  is_ready: true,
  last_end: null,
  crashes: 0,
  worker_crashes: 0,
  last_worker_crash: null,
  is_answering: true,
  cross_origin: null,
  up_ms: 1000,
  is_down: false,
  connections: 12,
  idle_ms: 0,
  log_place: "",
  runs_ended: 0,
  runs_failed: 0,
  leaving_ms: null,
  may_start: true,
  start_in_ms: 0,
  is_outdated: false,
  seen: running(),
  traffic: { open: 0, idle_ms: 0 },
  ...change,
})

export const revisionOf = (
  role: RevisionFacts["role"],
  units: readonly UnitFacts[],
  change: Partial<RevisionFacts> = {},
): RevisionFacts => ({
  revision_id: `revision-${role}`,
  role,
  is_settled: role !== "starting",
  settled_ms: role === "starting" ? null : 1_000_000,
  retire_in_ms: role === "retiring" ? 900_000 : null,
  pinned_ms: role === "pinned" ? 1000 : null,
  is_deploying: role === "starting",
  weight: role === "canary" ? 10 : null,
  min_units: 1,
  max_units: 1,
  scaled_ms: null,
  loaded_ms: null,
  pins: role === "pinned" ? { threads: 1, has_runs: false, traffic: undefined, quiet_ms: 1000 } : undefined,
  units: units.map((unit) => ({ ...unit, role })),
  ...change,
})

export const deploymentOf = (
  revisions: readonly RevisionFacts[],
  change: Partial<DeploymentFacts> = {},
): DeploymentFacts => ({
  deployment_id: "d",
  is_deleted: false,
  is_paused: false,
  is_asleep: false,
  has_sleep: false,
  wake_in_ms: null,
  may_sleep: false,
  is_worked_on: false,
  is_switching: false,
  max_pin_ms: 86_400_000,
  rollback_min_runs: null,
  revisions,
  ...change,
})

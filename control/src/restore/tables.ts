/** Which rows of the control plane's database belong to a deployment, and what a restore changes in them. Pure. */
import type { MasterKey } from "../secrets/seal.js"
import { CannotOpen, open, seal } from "../secrets/seal.js"
import { sealedColumns } from "../secrets/sealed-columns.js"

/** A row as Postgres renders it in JSON. */
export type Row = Readonly<Record<string, unknown>>

/** Their column `deployment_id` says whose rows they are. In this order they are inserted. */
export const restoredTables = [
  "deployments",
  "revisions",
  "secrets",
  "artifacts",
  "uploads",
  "units",
  "watched_branches",
  "preview_settings",
  "preview_secrets",
] as const
export type RestoredTable = (typeof restoredTables)[number]

/** Tables that refer to deployments or revisions and are not restored, with the reason. A test compares both lists with the schema. */
export const leftOut: Readonly<Record<string, string>> = {
  log_books: "made anew: logs are not restored",
  log_lines: "logs are not restored",
  log_forwarding_cursors: "logs are not restored",
  sleeps: "a restored deployment is awake at first",
  unit_samples: "measurements of the past",
  traffic_samples: "measurements of the past",
  run_samples: "measurements of the past",
  commit_statuses: "hosts were told already",
  previews: "made again from their pull requests",
  listener_reports: "a listener reports again",
  mirrored_deployments: "the central installation says what is mirrored",
  route_changes: "a restore changes its routes, which is noted anew",
  host_names: "a name may belong to another deployment by now",
}

export type SavedRows = Readonly<Record<RestoredTable, readonly Row[]>>

export interface Target {
  readonly workspaceId: string
  readonly name: string
  readonly routeName: string
  readonly number: number
  /** The password of the deployment's new role, sealed. */
  readonly databasePasswordSealed: string | null
}

const keptRoles = ["serving", "canary", "pinned"]

/** Whether a restored deployment needs the units of this revision, which execute runs; others only finished what they had. */
export const needsUnits = ({ role }: Row): boolean => keptRoles.includes(String(role))

/**
 * The rows as they are inserted: with processes that have not been started yet, and no stage under way. The deployment is
 * paused until its files are in place.
 */
export function restoredRows(saved: SavedRows, target: Target): SavedRows {
  const kept = new Set(saved.revisions.filter(needsUnits).map((it) => it.revision_id))
  return {
    ...saved,
    deployments: saved.deployments.map((row) => ({
      ...row,
      workspace_id: target.workspaceId,
      name: target.name,
      route_name: target.routeName,
      number: target.number,
      database_password_sealed: target.databasePasswordSealed,
      desired_run_state: "paused",
    })),
    revisions: saved.revisions.map((row) => ended({ ...row, ...(!kept.has(row.revision_id) && noRole) })),
    units: saved.units.filter((row) => kept.has(row.revision_id)).map((row) => ({ ...row, ...neverStarted })),
  }
}

const noRole: Row = { role: null, retire_by: null, pinned_since: null, pinned_threads: 0 }

const neverStarted: Row = {
  crashes: 0,
  is_down: false,
  is_ready: false,
  is_answering: false,
  last_end: null,
  connections: 0,
  log_place: "",
  worker_crashes: 0,
  last_worker_crash: null,
  reported_ended: null,
  reported_failed: null,
}

/** The process that worked on it is of another time; the same is asked for again by a redeploy. */
function ended(row: Row): Row {
  const free = { ...row, lease_owner: null, lease_until: null }
  if (row.stage === null) return free
  const status = row.status === "DEPLOYED" ? {} : { status: "INTERRUPTED", error_code: "interrupted" }
  return { ...free, ...status, stage: null, finished_at: row.finished_at ?? row.updated_at }
}

/** From the keys and the workspace of the backup to those of the installation. */
export interface Resealing {
  readonly from: { readonly keys: readonly MasterKey[]; readonly workspaceId: string }
  readonly to: { readonly key: MasterKey; readonly workspaceId: string }
}

/**
 * Seals the secret values of a row for the installation.
 * @throws CannotOpen  none of the keys opens one
 */
export function resealed(table: string, row: Row, { from, to }: Resealing): Row {
  const changed = { ...row }
  for (const { column, isArray, context } of sealedColumns.filter((it) => it.table === table)) {
    const again = (value: unknown) =>
      seal(
        to.key,
        openWith(from.keys, String(value), context({ ...row, workspace_id: from.workspaceId })),
        context({ ...row, workspace_id: to.workspaceId }),
      )
    const value = row[column]
    if (value !== null && value !== undefined)
      changed[column] = isArray ? (value as unknown[]).map(again) : again(value)
  }
  return changed
}

function openWith(keys: readonly MasterKey[], sealed: string, context: readonly (string | number)[]): string {
  const key = keys.find(({ id }) => id === sealed.split(".")[1])
  if (!key) throw new CannotOpen("the backup lacks the master key of its secrets: set it in SUPERSTEP_MASTER_KEY")
  return open(key, sealed, context)
}

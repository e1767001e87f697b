/** Defines an event: a change of something that users see. Pure. */

export const eventTypes = [
  "deployment.created",
  "deployment.updated",
  "deployment.deleted",
  "revision.status_changed",
  "revision.rolled_back",
  "revision.promoted",
  "revision.aborted",
  "unit.crash_loop",
  "quota.warning",
  "secret.changed",
  "key.created",
  "key.revoked",
  "host_name.active",
  "host_name.failed",
  "backup.failed",
] as const
export type EventType = (typeof eventTypes)[number]

export interface Event {
  readonly event_id: string
  /** Rises in the order of commits, so a reader that continues after one misses none (E2). */
  readonly seq: number
  /** Null: an event of the installation, for operators. */
  readonly workspace_id: string | null
  readonly deployment_id: string | null
  readonly revision_id: string | null
  readonly type: EventType
  readonly data: Readonly<Record<string, unknown>>
  readonly created_at: Date
}

export interface NewEvent {
  /** Null: the event concerns the whole installation, and only operators see it. */
  readonly workspaceId: string | null
  readonly deploymentId?: string
  readonly revisionId?: string
  readonly type: EventType
  /** For readers outside of the platform; never a secret. */
  readonly data: Readonly<Record<string, unknown>>
}

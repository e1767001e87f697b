/** What an event is: something that happened to what users see. Pure. */

export const eventTypes = [
  "deployment.created",
  "deployment.updated",
  "deployment.deleted",
  "revision.status_changed",
  "revision.rolled_back",
  "unit.crash_loop",
  "quota.warning",
  "secret.changed",
  "key.created",
  "key.revoked",
] as const
export type EventType = (typeof eventTypes)[number]

export interface Event {
  readonly event_id: string
  /** Rises with the commits, so a reader who goes on after one misses none (E2). */
  readonly seq: number
  readonly workspace_id: string
  readonly deployment_id: string | null
  readonly revision_id: string | null
  readonly type: EventType
  readonly data: Readonly<Record<string, unknown>>
  readonly created_at: Date
}

export interface NewEvent {
  readonly workspaceId: string
  readonly deploymentId?: string
  readonly revisionId?: string
  readonly type: EventType
  /** For people and programs outside; never a secret. */
  readonly data: Readonly<Record<string, unknown>>
}

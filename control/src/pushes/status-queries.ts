/** The table `commit_statuses`: a trigger on `revisions` inserts rows, and this module sends them. */

import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { StorableText } from "@superstep/toolkit/text/storable"
import type { RevisionStatus } from "../revisions/revision.js"
import type { CommitState } from "./commit-status.js"
import type { Provider } from "./push.js"

/** The trigger of `revisions` notifies here that there is something to send. */
export const statusChannel = "superstep_commit_status"

export interface DueStatus {
  readonly revision_id: string
  readonly wanted: CommitState
  readonly attempts: number
  /** Names this take: the end of its hold. */
  readonly taken: string
  readonly status: RevisionStatus
  readonly error_code: string | null
  readonly status_message: string | null
  readonly sha: string
  readonly repo_url: string
  readonly deployment_id: string
  readonly workspace_id: string
  readonly name: string
  readonly route_name: string
  readonly integration_id: string
  readonly host: string
  /** From the integration's settings; null when they do not set it. */
  readonly provider: Provider | null
}

/** With the integration through which a status is sent. One whose host wants to be left alone waits, uncounted as a try. */
const withIntegration = sql`join revisions using (revision_id) join deployments d using (deployment_id)
  left join integrations i on i.workspace_id = d.workspace_id and i.integration_id = d.integration_id`

/**
 * Takes statuses that are due, and holds them for so long: when the sender dies, they are due again.
 * @param busy     workspaces of which none is to be taken
 * @param underWay  revisions whose former status is being sent; a host must not get the two in the other order
 */
export const takeDueStatuses = (
  db: Db,
  it: { limit: number; holdMs: number; busy: readonly string[]; underWay: readonly string[] },
): Promise<DueStatus[]> =>
  db.rows(sql`
    with due as (
      select c.revision_id, i.integration_id from commit_statuses c ${withIntegration}
      where c.due_at <= now() and coalesce(i.not_before <= now(), true) and c.revision_id <> all(${[...it.underWay]}::uuid[])
        and d.workspace_id <> all(${[...it.busy]}::uuid[])
      order by c.due_at limit ${it.limit} for update of c skip locked),
    taken as (
      -- Without its integration nothing is sent any more.
      update commit_statuses c set attempts = c.attempts + 1,
        due_at = case when due.integration_id is not null then now() + ${it.holdMs} * interval '1 millisecond' end
      from due where c.revision_id = due.revision_id returning c.revision_id, c.wanted, c.attempts, c.due_at::text as taken)
    select t.*, r.status, r.error_code, r.status_message, r.source_config ->> 'repo_url' as repo_url,
      coalesce(r.commit_sha, r.source_revision_config ->> 'repo_commit_sha') as sha,
      d.deployment_id, d.workspace_id, d.name, d.route_name, i.integration_id, i.host, w.provider
    from taken t join revisions r using (revision_id) join deployments d using (deployment_id)
      join integrations i on i.workspace_id = d.workspace_id and i.integration_id = d.integration_id
      left join integration_webhooks w on w.integration_id = i.integration_id`)

/** Milliseconds until the next status is due, without those of some revisions; undefined when none waits. */
export async function nextStatusMs(db: Db, underWay: readonly string[]): Promise<number | undefined> {
  const row = await db.row<{ due_ms: number | null }>(sql`
    select ceil(extract(epoch from min(greatest(c.due_at, i.not_before)) - now()) * 1000)::float8 as due_ms
    from commit_statuses c ${withIntegration}
    where c.due_at is not null and c.revision_id <> all(${[...underWay]}::uuid[])`)
  return row?.due_ms ?? undefined
}

const isTaken = ({ wanted, taken }: Taken) =>
  sql`due_at is not null and (due_at = ${taken}::timestamptz or wanted <> ${wanted})`

type Taken = Pick<DueStatus, "revision_id" | "wanted" | "taken">

/** Whether no other process has taken the same state meanwhile. */
export const isStillTaken = async (db: Db, it: Taken): Promise<boolean> =>
  (await db.row(sql`select from commit_statuses where revision_id = ${it.revision_id} and ${isTaken(it)}`)) !==
  undefined

export interface TriedStatus {
  readonly isSent: boolean
  readonly error: StorableText | undefined
  /** When to try again, in milliseconds; undefined: never. */
  readonly againMs?: number | undefined
  /** How long the host wants to be left alone, also by the next state, in milliseconds. */
  readonly askedMs?: number | undefined
  /** The process stopped before there was an answer: no try of the seven. */
  readonly isStopped?: boolean
}

/**
 * Stores the result of a try, unless another process has taken the same state meanwhile. When another state is wanted by now, that is due next.
 * @returns  whether something is due later
 */
export async function settleStatus(
  db: Db,
  it: Taken,
  { isSent, error, againMs, askedMs = 0, isStopped = false }: TriedStatus,
): Promise<boolean> {
  const { revision_id, wanted } = it
  const row = await db.row<{ is_due: boolean }>(sql`
    update commit_statuses set sent = case when ${isSent} then ${wanted} else sent end, last_error = ${error ?? null},
      due_at = now() + case when wanted = ${wanted} then ${againMs ?? null}::float8 else ${askedMs} end * interval '1 millisecond',
      attempts = case when ${againMs === undefined} then 0 when ${isStopped} then greatest(attempts - 1, 0) else attempts end
    where revision_id = ${revision_id} and ${isTaken(it)}
    returning due_at is not null as is_due`)
  return row?.is_due ?? false
}

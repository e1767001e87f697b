/** Operations on crons: the only entry point for routes and tests. Firing is in `firing.ts`. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import type { Hints } from "@superstep/toolkit/db/hints"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { v7 as uuidv7 } from "uuid"
import { requireApproval } from "../acts/act.js"
import { recordedDeletion } from "../acts/deletions.js"
import { assistantIdOf } from "../assistants/assistant.js"
import { usableAssistant } from "../assistants/operations.js"
import { findAssistant } from "../assistants/queries.js"
import type { Caller } from "../auth/caller.js"
import type { Page } from "../http/pagination.js"
import { requireRightToRun } from "../runs/right-to-run.js"
import { getThread } from "../threads/operations.js"
import { acceptedWebhook, type UrlRules } from "../webhooks/url-rules.js"
import { requireHeld } from "../workers/held-numbers.js"
import type { Workers } from "../workers/port.js"
import type { CronRow } from "./cron.js"
import { bodyOf } from "./firing.js"
import {
  type CronConditions,
  countCrons as countInDatabase,
  databaseNow,
  deleteCron as deleteInDatabase,
  findCron,
  insertCron,
  lockCron,
  searchCrons as searchInDatabase,
  updateCron as updateInDatabase,
} from "./queries.js"
import { nextRunDate } from "./schedule.js"
import { type CronCountBody, type CronPatchBody, type CronSearchBody, type NewCronBody, payloadOf } from "./schema.js"

/** What the operations need. */
export interface Crons {
  readonly db: Database
  readonly webhooks: UrlRules
  readonly workers: Pick<Workers, "report">
  readonly hints: Pick<Hints, "send">
}

/** Wakes the servers that sleep until the next cron is due. Call it after the commit. */
export const announceCronsChanged = ({ hints }: Pick<Crons, "hints">): void => hints.send("crons_changed")

const noCron = (cronId: string) => new NotFound(`Cron with ID ${cronId} not found`)

/**
 * Checks whether the caller may create a cron. A cron first fires at its next due time, never at once.
 * @param threadId  undefined: each of its runs gets its own thread
 * @returns a function that creates it
 * @throws NotFound      no such assistant or thread
 * @throws InvalidInput  the webhook is not allowed
 */
export async function prepareCron(
  { db, workers, webhooks }: Crons,
  caller: Caller,
  threadId: string | undefined,
  body: NewCronBody,
): Promise<(db: Db) => Promise<CronRow>> {
  // Nobody is asked again when it fires.
  requireRightToRun(caller, body)
  acceptedWebhook(webhooks, body.webhook)
  const { value } = await caller.authorize("crons:create", {
    cron_id: uuidv7(),
    thread_id: threadId ?? null,
    user_id: caller.user?.identity ?? null,
    schedule: body.schedule,
    end_time: body.end_time ?? null,
    metadata: body.metadata ?? {},
    payload: { assistant_id: body.assistant_id, ...withoutNull(payloadOf(body)), metadata: body.metadata ?? {} },
  })
  const assistant = await usableAssistant({ db, workers }, caller, body.assistant_id)
  if (threadId === undefined) await caller.authorize("threads:search", {})
  else await getThread(db, caller, threadId)
  requireHeld(workers.report().languages?.get(assistant.graphId), [{ path: ["body"], value: value.payload }])
  const plan = {
    schedule: body.schedule,
    timezone: body.timezone ?? null,
    end_time: body.end_time ?? null,
    enabled: body.enabled ?? true,
  }
  // A rule may write to either metadata; both the cron and its runs get what it wrote.
  const metadata = { ...value.payload.metadata, ...value.metadata }
  const cron = {
    ...plan,
    cron_id: value.cron_id,
    assistant_id: assistant.assistantId,
    thread_id: threadId ?? null,
    on_run_completed: threadId === undefined ? (body.on_run_completed ?? "delete") : null,
    user_id: value.user_id,
    created_by: caller.user ? toJsonText(caller.user) : null,
    payload: toJsonText({ ...value.payload, metadata }),
    metadata: toJsonText(metadata),
    next_run_date: nextRunDate(plan, await databaseNow(db)),
  }
  return (tx) => insertCron(tx, cron)
}

/** @throws NotFound  no such cron, or the caller may not see it */
export async function getCron({ db }: Crons, caller: Caller, cronId: string): Promise<CronRow> {
  const { filter } = await caller.authorize("crons:read", { cron_id: cronId })
  const cron = await findCron(db, cronId, filter)
  if (!cron) throw noCron(cronId)
  return cron
}

/**
 * Changes a cron: an absent field stays, null removes it, metadata is merged. A changed schedule counts from now.
 * @throws NotFound      no such cron, or the caller may not see it
 * @throws InvalidInput  the webhook is not allowed
 * @throws Forbidden     the person may not start such runs
 */
export async function updateCron(
  { db, webhooks, hints, workers }: Crons,
  caller: Caller,
  cronId: string,
  body: CronPatchBody,
): Promise<CronRow> {
  // What the body leaves out stays as it was: so nobody without that right changes the run of a cron.
  if (Object.keys(payloadOf(body)).length > 0) requireApproval(caller, "a change of what a cron runs")
  acceptedWebhook(webhooks, body.webhook)
  const { value, filter } = await caller.authorize("crons:update", {
    cron_id: cronId,
    schedule: body.schedule ?? null,
    end_time: body.end_time ?? null,
    metadata: body.metadata ?? {},
    payload: payloadOf(body),
  })
  const cron = await db.transaction(async (tx) => {
    const old = await lockCron(tx, cronId, filter)
    if (!old) throw noCron(cronId)
    const changed = changedCron(old, body, value)
    const assistant = await findAssistant(tx, old.assistant_id)
    if (assistant)
      requireHeld(workers.report().languages?.get(assistant.graphId), [
        { path: ["body"], value: { ...value.payload, metadata: value.metadata } },
      ])
    const isMoved = [body.schedule, body.timezone, body.end_time, body.enabled].some((given) => given !== undefined)
    // It would start runs that the caller may not start.
    if (isMoved) requireRightToRun(caller, bodyOf(old))
    const next_run_date = isMoved ? nextRunDate(changed, await databaseNow(tx)) : old.next_run_date
    const updated = await updateInDatabase(tx, { ...changed, next_run_date })
    if (!updated) throw noCron(cronId)
    return updated
  })
  announceCronsChanged({ hints })
  return cron
}

type Given = { readonly metadata: Record<string, unknown>; readonly payload: Record<string, unknown> }

function changedCron(old: CronRow, body: CronPatchBody, given: Given): CronRow {
  const metadata = { ...parseJson(old.metadata), ...given.metadata }
  const payload = withoutNull({ ...parseJson(old.payload), ...given.payload })
  const enabled = body.enabled ?? old.enabled
  return {
    ...old,
    schedule: body.schedule ?? old.schedule,
    timezone: body.timezone === undefined ? old.timezone : body.timezone,
    end_time: body.end_time === undefined ? old.end_time : body.end_time,
    enabled,
    disabled_reason: enabled ? null : old.disabled_reason,
    on_run_completed: old.thread_id === null ? (body.on_run_completed ?? old.on_run_completed) : null,
    payload: toJsonText({ ...payload, metadata }),
    metadata: toJsonText(metadata),
  }
}

/** @throws NotFound  no such cron, or the caller may not see it */
export async function deleteCron({ db }: Crons, caller: Caller, cronId: string): Promise<void> {
  const { filter } = await caller.authorize("crons:delete", { cron_id: cronId })
  const work = (tx: Db) => deleteInDatabase(tx, cronId, filter)
  const cron = await recordedDeletion(db, caller, work, (it) =>
    it ? [{ type: "cron", id: cronId, name: it.schedule }] : [],
  )
  if (!cron) throw noCron(cronId)
}

/** A page of the crons that a caller may see, and their total number. */
export async function searchCrons(
  { db, workers }: Crons,
  caller: Caller,
  body: CronSearchBody,
): Promise<{ crons: CronRow[]; total: number; page: Page }> {
  const page = { limit: body.limit, offset: body.offset }
  const conditions = await conditionsOf(workers, caller, body, page)
  const order = { by: body.sort_by ?? "created_at", order: body.sort_order ?? "desc" }
  const [crons, total] = await Promise.all([
    searchInDatabase(db, conditions, order, page),
    countInDatabase(db, conditions),
  ])
  return { crons, total, page }
}

/** How many matching crons a caller may see. */
export async function countCrons({ db, workers }: Crons, caller: Caller, body: CronCountBody): Promise<number> {
  return countInDatabase(db, await conditionsOf(workers, caller, body, { limit: 0, offset: 0 }))
}

async function conditionsOf(
  workers: Crons["workers"],
  caller: Caller,
  body: CronCountBody,
  page: Page,
): Promise<CronConditions> {
  const { value, filter } = await caller.authorize("crons:search", {
    assistant_id: body.assistant_id ?? undefined,
    thread_id: body.thread_id ?? undefined,
    metadata: body.metadata ?? undefined,
    ...page,
  })
  const { assistant_id: assistant, metadata } = value
  return {
    assistantId: assistant === undefined ? undefined : assistantIdOf(assistant, workers.report().graphs),
    threadId: value.thread_id,
    enabled: body.enabled ?? undefined,
    metadata: metadata === undefined ? undefined : toJsonText(metadata),
    filter,
  }
}

const withoutNull = <Fields extends object>(fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Fields

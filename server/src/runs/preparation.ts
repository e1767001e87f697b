/** From a request to a row of `runs` that can be inserted: everything that can be said before the thread is locked. */
import type { Database } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { v7 as uuidv7 } from "uuid"
import { type Assistant, systemAssistantId } from "../assistants/assistant.js"
import { type Assistants, resolveAssistant } from "../assistants/operations.js"
import { findAssistantRow } from "../assistants/queries.js"
import { type Caller, callerFields } from "../auth/caller.js"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { hasCheckpoint } from "../checkpoints/queries.js"
import { lastLoggedSeq } from "../events/queries.js"
import { findThread } from "../threads/queries.js"
import { metadataOf } from "../threads/thread.js"
import { acceptedWebhook } from "../webhooks/url-rules.js"
import type { Runs } from "./parts.js"
import { findThreadId, type NewRun } from "./queries.js"
import { checkpointOf, mergeKwargs, mergeMetadata, type RunIds, type ThreadDefaults } from "./request.js"
import type { NewRunBody } from "./schema.js"
import { requireRoom } from "./waiting-limit.js"

export interface RunRequest {
  readonly caller: Caller
  /** Undefined for a stateless run, which gets a thread of its own. */
  readonly threadId: string | undefined
  readonly body: NewRunBody
  /** Headers that the project lets through to the graph. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface PreparedRun {
  readonly run: Omit<NewRun, "canExecute" | "isStreamed">
  /** What a thread that is there already must match. */
  readonly filter: MetadataFilter | undefined
}

/**
 * Asks whether the caller may, and merges what it asks for with its assistant and thread.
 * @throws NotFound   no such assistant or checkpoint, or none that the caller may use
 * @throws Conflict   the run's id was that of a run which is gone, and whose events are not
 * @throws Forbidden  a rule of the project says no
 * @throws InvalidInput  its webhook can never be called
 */
export async function prepareRun(runs: Runs, request: RunRequest): Promise<PreparedRun> {
  const { db, claimer } = runs
  const { caller, threadId } = request
  const isStateless = threadId === undefined
  const ids = { runId: request.body.run_id ?? uuidv7(), threadId: threadId ?? uuidv7() }
  const [assistant, thread] = await Promise.all([
    assistantFor(runs, caller, request.body.assistant_id),
    isStateless ? noDefaults : threadDefaults(db, threadId),
    requireUnused(db, request.body.run_id),
  ])
  const { body: asked, filter } = await authorized(request, ids, assistant)
  const body = { ...asked, webhook: acceptedWebhook(runs.webhooks, asked.webhook) }
  await requireCheckpoint(db, ids.threadId, body)
  // The other strategies end what waits, or refuse by themselves.
  if (thread.isBusy && (body.multitask_strategy ?? "enqueue") === "enqueue") {
    await requireRoom(db, { threadId: ids.threadId, filter, most: runs.maxWaitingRuns ?? 0 })
  }
  const origin = { user: caller.user, headers: request.headers ?? {} }
  const kwargs = mergeKwargs({ ids, assistant, thread, body, origin, isStateless })
  const run = {
    ...ids,
    threadRule: threadRuleOf(isStateless, body),
    threadMetadata: JSON.stringify(body.metadata ?? {}),
    assistantId: assistant.assistantId,
    graphId: assistant.graphId,
    metadata: JSON.stringify(mergeMetadata(assistant, thread, body)),
    kwargs: JSON.stringify(runs.tracing ? { ...kwargs, traceparent: runs.tracing.traceparent() } : kwargs),
    multitaskStrategy: body.multitask_strategy ?? "enqueue",
    isResumable: kwargs.resumable,
    deleteThreadOnCompletion: isStateless && body.on_completion !== "keep",
    afterSeconds: body.after_seconds ?? 0,
    serverId: claimer.serverId,
    revisionId: claimer.revisionId,
    leaseMs: claimer.leaseMs,
    caller: caller.user ? JSON.stringify(callerFields(caller.user)) : null,
    webhook: body.webhook ?? null,
  } as const
  return { run, filter }
}

/**
 * The assistant of a run. A graph's own assistant is nobody's: a rule that asks for an owner must not hide it
 * (agent-server-api §6.2.2).
 * @throws NotFound  there is none, or none that the caller may use
 */
export async function assistantFor({ db, workers }: Assistants, caller: Caller, name: string): Promise<Assistant> {
  const { filter } = await caller.authorize("assistants:read", { assistant_id: name })
  const assistant = await resolveAssistant(db, name, workers.report())
  const { assistantId, graphId } = assistant
  if (filter === undefined || assistantId === systemAssistantId(graphId)) return assistant
  if (await findAssistantRow(db, assistantId, filter)) return assistant
  throw new NotFound(
    `No assistant found for "${name}". Make sure the assistant ID is for a valid assistant or a valid graph ID.`,
  )
}

/** The log outlives its run for a while: a new run under that id would give its clients what is another's. */
async function requireUnused(db: Database, runId: string | null | undefined): Promise<void> {
  if (!runId || (await lastLoggedSeq(db, runId)) < 0 || (await findThreadId(db, runId)) !== undefined) return
  throw runIdTaken(runId)
}

export const runIdTaken = (runId: string) =>
  new Conflict(`the run id ${runId} is taken: choose another one, or none`, "id_taken")

/** What a handler changed in the metadata, and in what the graph gets, is what is stored (agent-server-api §6.2.2). */
async function authorized({ caller, body }: RunRequest, ids: RunIds, { assistantId }: Assistant) {
  const { assistant_id: _, run_id: __, metadata, multitask_strategy, if_not_exists, after_seconds, ...kwargs } = body
  const { value, filter } = await caller.authorize("threads:create_run", {
    thread_id: ids.threadId,
    assistant_id: assistantId,
    run_id: ids.runId,
    status: "pending",
    metadata: metadata ?? {},
    prevent_insert_if_inflight: multitask_strategy === "reject",
    multitask_strategy: multitask_strategy ?? "enqueue",
    if_not_exists: if_not_exists ?? "reject",
    after_seconds: after_seconds ?? 0,
    kwargs,
  })
  return { body: { ...body, ...value.kwargs, metadata: value.metadata }, filter }
}

/** A run from a checkpoint that is not there would begin anew, and the thread's conversation would seem lost. */
async function requireCheckpoint(db: Database, threadId: string, body: NewRunBody): Promise<void> {
  const { checkpoint_id: id, checkpoint_ns: ns = "" } = checkpointOf(body)
  // A text with U+0000 in it cannot be a parameter, and cannot name anything.
  const isPossible = !`${ns}${id}`.includes("\u0000")
  const named = { threadId, checkpointNs: String(ns), checkpointId: String(id) }
  if (id === undefined || (isPossible && (await hasCheckpoint(db, named)))) return
  throw new NotFound(`Thread ${threadId} has no checkpoint ${id}`)
}

const noDefaults: ThreadDefaults = { metadata: {}, config: {} }

async function threadDefaults(db: Database, threadId: string): Promise<ThreadDefaults> {
  const thread = await findThread(db, threadId)
  if (!thread) return noDefaults
  return { metadata: metadataOf(thread), config: JSON.parse(thread.config), isBusy: thread.status === "busy" }
}

function threadRuleOf(isStateless: boolean, { if_not_exists }: NewRunBody) {
  if (isStateless) return "ephemeral"
  return if_not_exists === "create" ? "create_if_missing" : "must_exist"
}

/** Turns a request into a row of `runs` to insert: everything that can be decided before the thread is locked. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { printJson } from "@superstep/toolkit/http/json-printer"
import { v7 as uuidv7 } from "uuid"
import type { NewAct } from "../acts/act.js"
import { hasActOfRun } from "../acts/queries.js"
import { type Assistant, assistantIdOf } from "../assistants/assistant.js"
import { usableAssistant } from "../assistants/operations.js"
import { type Caller, callerFields } from "../auth/caller.js"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import type { CheckpointAddress } from "../checkpoints/checkpoint.js"
import { hasCheckpoint } from "../checkpoints/queries.js"
import { lastSeqOfRun } from "../events/queries.js"
import { findThread, lockThread } from "../threads/queries.js"
import type { ThreadRow } from "../threads/thread.js"
import { acceptedWebhook } from "../webhooks/url-rules.js"
import { type GivenValue, requireHeld } from "../workers/held-numbers.js"
import type { ThreadTexts } from "./known.js"
import type { Runs } from "./parts.js"
import { findThreadId, isThreadVisible, type NewRun } from "./queries.js"
import { checkpointOf, mergeKwargs, mergeMetadata, type RunIds, type ThreadDefaults } from "./request.js"
import { goesOn, requireRightToRun, withCommand } from "./right-to-run.js"
import type { Kwargs } from "./run.js"
import type { NewRunBody } from "./schema.js"

export interface RunRequest {
  readonly caller: Caller
  /** Undefined for a stateless run, which gets its own thread. */
  readonly threadId: string | undefined
  readonly body: NewRunBody
  /** What depends on the thread, which is undefined when there is none yet. */
  readonly forThread?: ((thread: ThreadRow | undefined) => ForThread | Promise<ForThread>) | undefined
  /** Where the client's request has a value of the body; by default in `body`. */
  readonly pathOf?: PathOf | undefined
  /** Headers that the project passes on to the graph. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** @param field  of the run's body. @param rest  the path in it */
export type PathOf = (field: string, ...rest: Path) => Path

type Path = readonly (string | number)[]

/**
 * What must be true of the thread for the run to be created. It is called in the transaction that inserts the run, with the thread
 * locked, so nothing can change between the check and the run; it throws to reject the run.
 */
export type Requirement = (thread: ThreadRow, tx: Db) => void | Promise<void>

export interface ForThread {
  /** Fields of the body. */
  readonly fields?: Partial<NewRunBody>
  readonly requires?: Requirement | undefined
}

/** The assistant or the thread is not what a run was planned from. Nothing was changed. */
export class StalePlan extends Conflict {
  constructor() {
    super("the assistant or the thread is being changed by many others: try again", "thread_changed")
  }
}

/** What to insert, and on which condition. */
export interface RunPlan {
  readonly run: Omit<NewRun, "canExecute" | "isStreamed">
  /** The object whose JSON text is `run.kwargs`. */
  readonly kwargs: Kwargs
  /** An existing thread must match this. */
  readonly filter: MetadataFilter | undefined
  readonly requires: Requirement | undefined
  /** The checkpoint to start from, which must exist when the run is inserted. */
  readonly startsFrom: CheckpointAddress | undefined
  /** That a person has started it. */
  readonly act: NewAct | undefined
}

/**
 * Applies the access rules, and merges the request with its assistant and thread.
 * @throws NotFound   no such assistant, or none that the caller may use
 * @throws Conflict   the run's id belonged to a deleted run whose events still exist
 * @throws Forbidden  a rule of the project forbids it, or the person may not answer what the thread waits for
 * @throws InvalidInput  the webhook is not allowed, or the graph cannot hold a number
 * @throws StalePlan  it may be so only with what this server remembers; not if `isAgain`, which reads assistant and thread
 */
export async function planRun(runs: Runs, request: RunRequest, { isAgain }: { isAgain: boolean }): Promise<RunPlan> {
  const { db, claimer } = runs
  const { caller, threadId } = request
  if (isAgain) {
    const assistantId = assistantIdOf(request.body.assistant_id, runs.workers.report().graphs)
    runs.known.forget({ assistantId, threadId })
  }
  const isStateless = threadId === undefined
  const ids = { runId: request.body.run_id ?? uuidv7(), threadId: threadId ?? uuidv7() }
  const [assistant, thread] = await Promise.all([
    usableAssistant(runs, caller, request.body.assistant_id),
    isStateless ? noThread : readThread(runs, threadId, request.forThread !== undefined),
    requireUnused(db, request.body.run_id),
  ])
  const { fields, requires } = (await request.forThread?.(thread.row)) ?? {}
  const given = { ...request.body, ...fields }
  const wanted = withCommand(given, (request.pathOf ?? inBody)("input"))
  const { body: asked, filter } = await authorized({ caller, body: wanted }, ids, assistant)
  const body = { ...asked, webhook: acceptedWebhook(runs.webhooks, asked.webhook) }
  requireRightToRun(caller, body)
  const origin = { user: caller.user, headers: request.headers ?? {} }
  const merged = mergeKwargs({ ids, assistant, thread, body, origin, isStateless })
  const kwargs = runs.tracing ? { ...merged, traceparent: runs.tracing.traceparent() } : merged
  const printed = printJson(kwargs)
  if (printed.hasExactNumbers) {
    const language = runs.workers.report().languages?.get(assistant.graphId)
    try {
      requireHeld(
        language,
        givenBy(request, { body, commandField: wanted === given ? "command" : "input" }, assistant, thread),
      )
    } catch (error) {
      // The number may have been the assistant's or the thread's.
      if (!isAgain) throw new StalePlan()
      // A caller who may not see the thread must not learn what its metadata contains.
      if (thread.row && !(await isThreadVisible(db, ids.threadId, filter))) throw threadNotFound(ids.threadId)
      throw error
    }
  }
  const run = {
    ...ids,
    threadRule: threadRuleOf(isStateless, body),
    threadMetadata: toJsonText(body.metadata ?? {}),
    assistantId: assistant.assistantId,
    graphId: assistant.graphId,
    metadata: toJsonText(mergeMetadata(assistant, thread, body)),
    kwargs: printed.text,
    multitaskStrategy: body.multitask_strategy ?? "enqueue",
    isResumable: kwargs.resumable,
    deleteThreadOnCompletion: isStateless && body.on_completion !== "keep",
    afterSeconds: body.after_seconds ?? 0,
    serverId: claimer.serverId,
    revisionId: claimer.revisionId,
    leaseMs: claimer.leaseMs,
    caller: caller.user ? toJsonText(callerFields(caller.user)) : null,
    webhook: body.webhook ?? null,
    known: { assistant: assistant.stamp, ...thread.texts },
    mostWaiting: runs.maxWaitingRuns,
  } as const
  const person = caller.seen?.person
  const kind = goesOn(body) ? "answer" : "run"
  // That of a thread which goes with its run would be gone before anybody could read it.
  const act: NewAct | undefined =
    person && !run.deleteThreadOnCompletion
      ? { kind, person, threadId: ids.threadId, of: { runId: ids.runId } }
      : undefined
  return { run, kwargs, filter, requires, startsFrom: namedCheckpoint(ids.threadId, body), act }
}

/** What the graph gets, from the request itself and from what the run inherits. */
function givenBy(
  { pathOf = inBody }: RunRequest,
  { body, commandField }: { readonly body: NewRunBody; readonly commandField: "command" | "input" },
  assistant: Assistant,
  thread: KnownThread,
): GivenValue[] {
  const { input, command, config, context, metadata } = body
  return [
    ...Object.entries({ input, command, config, context, metadata }).map(([field, value]) => ({
      path: [field],
      value,
      shownPath: ([, ...rest]: Path) => pathOf(field === "command" ? commandField : field, ...rest),
    })),
    {
      path: ["assistant"],
      value: { config: assistant.config, context: assistant.context, metadata: assistant.metadata },
    },
    { path: ["thread"], value: { config: thread.config, metadata: thread.metadata } },
  ]
}

const inBody: PathOf = (...path) => ["body", ...path]

/**
 * The log outlives its run for a while; clients of a new run with the same id would get the old run's events. So does the record of the
 * person who started it.
 */
async function requireUnused(db: Database, runId: string | null | undefined): Promise<void> {
  if (!runId) return
  const isUsed = (await lastSeqOfRun(db, runId)) >= 0 || (await hasActOfRun(db, runId))
  if (!isUsed || (await findThreadId(db, runId)) !== undefined) return
  throw runIdTaken(runId)
}

export const runIdTaken = (runId: string) =>
  new Conflict(`the run id ${runId} is taken: choose another one, or none`, "id_taken")

const threadNotFound = (threadId: string) => new NotFound(`Thread with ID ${threadId} not found`)

/** A handler may change the metadata and the graph's input; the changed values are stored (agent-server-api §6.2.2). */
async function authorized(
  { caller, body }: Pick<RunRequest, "caller" | "body">,
  ids: RunIds,
  { assistantId }: Assistant,
) {
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

function namedCheckpoint(threadId: string, body: NewRunBody): CheckpointAddress | undefined {
  const { checkpoint_id: id, checkpoint_ns: ns = "" } = checkpointOf(body)
  return id === undefined ? undefined : { threadId, checkpointNs: String(ns), checkpointId: String(id) }
}

/**
 * Locks the plan's thread and checks what the plan requires of it. After that nothing can change before the run is inserted.
 * @param tx  the transaction that inserts the run
 * @throws NotFound  no such thread, or it has no such checkpoint: a run from a missing one would start anew, and the thread's
 *                   conversation would seem lost
 */
export async function requireOfThread(tx: Db, { run, filter, requires, startsFrom }: RunPlan): Promise<void> {
  if (requires === undefined && startsFrom === undefined) return
  const thread = await lockThread(tx, run.threadId, filter)
  if (!thread) throw threadNotFound(run.threadId)
  await requires?.(thread, tx)
  if (startsFrom === undefined) return
  // A text with U+0000 cannot be an SQL parameter, and no checkpoint has such an id.
  const isPossible = !`${startsFrom.checkpointNs}${startsFrom.checkpointId}`.includes("\u0000")
  if (isPossible && (await hasCheckpoint(tx, startsFrom))) return
  throw new NotFound(`Thread ${run.threadId} has no checkpoint ${startsFrom.checkpointId}`)
}

interface KnownThread extends ThreadDefaults {
  readonly texts: ThreadTexts
  /** Its present row, if that was read and it exists. */
  readonly row?: ThreadRow | undefined
}

const nothing: ThreadTexts = { metadata: "{}", config: "{}" }
const noThread: KnownThread = { texts: nothing, metadata: {}, config: {} }

/** @param wantsRow  whether more of the thread is needed than its runs inherit */
async function readThread({ db, known }: Runs, threadId: string, wantsRow: boolean): Promise<KnownThread> {
  const remembered = wantsRow ? undefined : known.thread(threadId)
  const row = remembered ? undefined : await findThread(db, threadId)
  if (row) known.noteThread(threadId, row)
  const { metadata, config } = remembered ?? row ?? nothing
  return { row, texts: { metadata, config }, metadata: parseJson(metadata), config: parseJson(config) }
}

function threadRuleOf(isStateless: boolean, { if_not_exists }: NewRunBody) {
  if (isStateless) return "ephemeral"
  return if_not_exists === "create" ? "create_if_missing" : "must_exist"
}

/** Executes one command on a thread. */
import { Forbidden, KnownError, NotFound } from "@superstep/toolkit/errors/errors"
import { parsedJson } from "@superstep/toolkit/http/json"
import { callerOf } from "../http/caller-of.js"
import type { RunRoutes } from "../runs/creating-routes.js"
import { getThread } from "../threads/operations.js"
import { getThreadHistory, getThreadState, newestState } from "../threads/state-operations.js"
import { type CommandError, CommandFailed, type Executed, parseParams } from "./command.js"
import { inject } from "./inject.js"
import { type CommandRequest, fork, respond, startRun } from "./run-commands.js"
import { runTree } from "./run-tree.js"
import { getTree, listCheckpoints, stateGet } from "./schema.js"
import { currentPlace, lifecycleOf } from "./thread-log.js"

type Execute = (runs: RunRoutes, request: CommandRequest) => Promise<Executed>

const commands: Readonly<Record<string, Execute>> = {
  "run.start": startRun,
  "input.respond": respond,
  "input.inject": inject,
  "state.fork": fork,
  "state.get": (runs, request) => read(runs, request, stateOf),
  "state.listCheckpoints": (runs, request) => read(runs, request, checkpointsOf),
  "agent.getTree": (runs, request) => read(runs, request, treeOf),
}

const onSocketsOnly = ["subscription.subscribe", "subscription.unsubscribe", "subscription.reconnect"]

/**
 * @throws CommandFailed  the command cannot be executed
 * @throws KnownError     the errors of the REST routes: no such assistant, no such thread, a rule of the project forbids it
 */
export async function executeCommand(runs: RunRoutes, method: string, request: CommandRequest): Promise<Executed> {
  const execute = Object.hasOwn(commands, method) ? commands[method] : undefined
  if (execute) return execute(runs, request)
  if (onSocketsOnly.includes(method))
    throw new CommandFailed(
      "not_supported",
      `${method} needs a WebSocket: use POST /threads/{thread_id}/stream/events.`,
    )
  throw new CommandFailed("unknown_command", `Unknown protocol command: ${method}`)
}

/** An error as a reply on a socket; undefined for a bug. */
export function failureOf(error: unknown): { code: CommandError; message: string } | undefined {
  if (error instanceof CommandFailed) return { code: error.code, message: error.message }
  if (!(error instanceof KnownError)) return undefined
  return { code: codeOf(error), message: error.message }
}

function codeOf(error: KnownError): CommandError {
  if (error instanceof Forbidden) return "permission_denied"
  if (error instanceof NotFound) return error.message.includes("checkpoint") ? "no_such_checkpoint" : "invalid_argument"
  return error.code === "invalid_input" || error.code === "refused" ? "invalid_argument" : "unknown_error"
}

/** The place is read first: a client continues after it, so it must not cover an event that the result does not have. */
async function read(
  runs: RunRoutes,
  request: CommandRequest,
  resultOf: (runs: RunRoutes, request: CommandRequest) => Promise<object>,
): Promise<Executed> {
  const appliedThroughSeq = await currentPlace(runs.db, request.threadId)
  return { result: await resultOf(runs, request), appliedThroughSeq }
}

const parsed = <T>(value: unknown): T => parsedJson(value) as T

interface Checkpoint {
  readonly checkpoint_id?: string | null
  readonly checkpoint_ns?: string | null
}

interface State {
  readonly values?: unknown
  readonly checkpoint?: Checkpoint | null
  readonly metadata?: { readonly step?: number } | null
  readonly created_at?: string | null
  readonly next?: readonly string[]
}

async function stateOf(runs: RunRoutes, { c, threadId, params }: CommandRequest): Promise<object> {
  const { namespace, keys } = parseParams(stateGet, params)
  const checkpointNs = (namespace ?? []).join("|")
  const select = keys ? ["checkpoint", ...keys.map((key) => `values.${key}`)] : ["values", "checkpoint"]
  const place = { ...newestState, checkpointNs, subgraphs: false, select }
  const state = parsed<State>(await getThreadState(runs, callerOf(c), threadId, place))
  const values = (state.values ?? {}) as Record<string, unknown>
  const selected = keys ? Object.fromEntries(Object.entries(values).filter(([key]) => keys.includes(key))) : values
  const id = state.checkpoint?.checkpoint_id
  return { values: selected, checkpoint: id ? { id, ns: state.checkpoint?.checkpoint_ns ?? checkpointNs } : null }
}

async function checkpointsOf(runs: RunRoutes, { c, threadId, params }: CommandRequest): Promise<object> {
  const { namespace, limit, before } = parseParams(listCheckpoints, params)
  const states = parsed<State[]>(
    await getThreadHistory(runs, callerOf(c), threadId, {
      ...newestState,
      checkpointNs: (namespace ?? []).join("|"),
      limit: limit ?? 10,
      before: before ?? undefined,
      filter: undefined,
      select: ["checkpoint", "metadata", "created_at", "next"],
    }),
  )
  const checkpoints = states.map(({ checkpoint, metadata, created_at, next }) => ({
    id: checkpoint?.checkpoint_id,
    timestamp: created_at,
    step: metadata?.step,
    ...(next?.[0] !== undefined && { node_name: next[0] }),
    metadata,
  }))
  return { checkpoints }
}

async function treeOf({ db }: RunRoutes, { c, threadId, params }: CommandRequest): Promise<object> {
  const { run_id: runId } = parseParams(getTree, params)
  await getThread(db, callerOf(c), threadId)
  return { tree: runTree(await lifecycleOf(db, threadId, runId ?? null)) }
}

/** The methods of A2A. Each turns its parameters into a result or into the frames of a stream. */
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { AwaitedEnd } from "../events/awaited-end.js"
import { agentCard } from "./card.js"
import { type A2aParts, type Asking, cancelTask, listTasks, requireTask, startTask } from "./operations.js"
import { listParams, parseParams, type SendParams, sendParams, taskParams } from "./request.js"
import { artifactName } from "./task.js"
import { AnswerPieces } from "./task-stream.js"
import { artifactUpdate, codes, type Family, methodOf, RpcError, renderTask, statusUpdate, wrapTask } from "./wire.js"

export interface RpcCall {
  readonly method: string
  readonly params: unknown
  /** The URL of the assistant's A2A endpoint. */
  readonly url: string
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

export const isStreaming = (method: string): boolean => methodOf(method)?.method === "stream"

/** @returns the `result` of the JSON-RPC response @throws RpcError */
export async function answerCall(parts: A2aParts, asking: Asking, call: RpcCall): Promise<unknown> {
  const { family, method } = methodOf(call.method) ?? {}
  if (!family) throw new RpcError(codes.methodNotFound, `unknown method "${call.method}"`)
  refuseScope(call.params)
  switch (method) {
    case "send":
      return send(parts, asking, family, call)
    case "get": {
      const { id, contextId, historyLength } = parseParams(taskParams, call.params)
      const task = await requireTask(parts, asking, id)
      if (contextId && contextId !== task.contextId) throw new RpcError(codes.taskNotFound, `Task ${id} not found`)
      return renderTask(family, task, historyLength ?? undefined)
    }
    case "cancel": {
      const { id } = parseParams(taskParams, call.params)
      return renderTask(family, await cancelTask(parts, asking, id, call.signal), undefined)
    }
    case "list": {
      const { contextId, pageSize, pageToken, historyLength } = parseParams(listParams, call.params)
      const listing = { contextId, limit: pageSize ?? 50, offset: Number(pageToken || 0) }
      const { tasks, nextPageToken } = await listTasks(parts, asking, listing)
      const rendered = tasks.map((task) => renderTask(family, task, historyLength ?? undefined))
      return { tasks: rendered, nextPageToken, pageSize: listing.limit }
    }
    case "card":
      return agentCard(asking.assistant, call.url)
    default:
      throw new RpcError(codes.methodNotFound, `"${call.method}" answers with a stream`)
  }
}

/** Only the scope "context" exists: a run does not store which messages of the thread are its own. */
function refuseScope(params: unknown): void {
  const { historyScope, configuration } = (params ?? {}) as {
    historyScope?: unknown
    configuration?: { historyScope?: unknown } | null
  }
  const scope = historyScope ?? configuration?.historyScope ?? "context"
  if (scope !== "context") throw new RpcError(codes.unsupported, 'only the historyScope "context" is supported')
}

async function send(parts: A2aParts, asking: Asking, family: Family, call: RpcCall): Promise<unknown> {
  const params = parseParams(sendParams, call.params)
  const { blocking, returnImmediately, historyLength } = params.configuration ?? {}
  const ended = new AwaitedEnd()
  const { taskId, run } = await startTask(parts, asking, params, ended)
  const leave = () => {
    parts.streams.runs.unsubscribe(run.run_id, ended)
    ended.end()
  }
  if (blocking === false || returnImmediately === true || call.signal.aborted) leave()
  else {
    call.signal.addEventListener("abort", leave, { once: true })
    await ended.over
    call.signal.removeEventListener("abort", leave)
    // The task continues without its client.
    if (!ended.hasEnd) throw new Unavailable(`task ${taskId} is still running: get it by its id`)
  }
  return wrapTask(family, renderTask(family, await requireTask(parts, asking, taskId), historyLength ?? undefined))
}

/**
 * The results of a stream: the task, its state "working", chunks of the answer, the complete answer, its final state.
 * @throws RpcError  before the first result
 */
export async function streamCall(parts: A2aParts, asking: Asking, call: RpcCall): Promise<AsyncGenerator<unknown>> {
  const params = parseParams(sendParams, call.params)
  refuseScope(call.params)
  const family = methodOf(call.method)?.family ?? "1.0"
  const pieces = new AnswerPieces()
  const { taskId, run } = await startTask(parts, asking, params, pieces)
  const leave = () => {
    parts.streams.runs.unsubscribe(run.run_id, pieces)
    pieces.end()
  }
  // The client may have left while the task was started.
  if (call.signal.aborted) leave()
  else call.signal.addEventListener("abort", leave, { once: true })
  return frames(parts, asking, { family, taskId, runId: run.run_id, params, pieces })
}

interface Frames {
  readonly family: Family
  readonly taskId: string
  readonly runId: string
  readonly params: SendParams
  readonly pieces: AnswerPieces
}

async function* frames(parts: A2aParts, asking: Asking, { family, taskId, runId, params, pieces }: Frames) {
  const first = await requireTask(parts, asking, taskId)
  yield wrapTask(family, renderTask(family, first, params.configuration?.historyLength ?? undefined))
  yield statusUpdate(family, { ...first, state: "working", message: undefined })
  let append = false
  for await (const { text } of pieces) {
    const artifact = { artifactId: runId, name: artifactName, parts: [{ kind: "text", text }] } as const
    yield artifactUpdate(family, first, artifact, { append, lastChunk: false })
    append = true
  }
  // Without an end event only this subscription has ended. A status update would report the task as finished.
  if (!pieces.hasEnd) return
  const last = await requireTask(parts, asking, taskId)
  for (const artifact of last.artifacts) {
    yield artifactUpdate(family, last, artifact, { append: false, lastChunk: true })
  }
  yield statusUpdate(family, last)
}

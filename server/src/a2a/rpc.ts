/** The methods of A2A: each takes its parameters and gives a result, or the frames of a stream. */
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { RunEnd } from "../runs/run-to-end.js"
import { agentCard } from "./card.js"
import { type A2aParts, type Asking, cancelTask, listTasks, requireTask, startTask } from "./operations.js"
import { listParams, parseParams, type SendParams, sendParams, taskParams } from "./request.js"
import { artifactName } from "./task.js"
import { AnswerPieces } from "./task-stream.js"
import { artifactUpdate, codes, type Family, methodOf, RpcError, renderTask, statusUpdate, wrapTask } from "./wire.js"

export interface RpcCall {
  readonly method: string
  readonly params: unknown
  /** Where the assistant answers. */
  readonly url: string
  /** The client has left. */
  readonly signal: AbortSignal
}

export const isStreaming = (method: string): boolean => methodOf(method)?.method === "stream"

/** @returns the `result` of the answer @throws RpcError */
export async function answerCall(parts: A2aParts, asking: Asking, call: RpcCall): Promise<unknown> {
  const { family, method } = methodOf(call.method) ?? {}
  if (!family) throw new RpcError(codes.methodNotFound, `there is no method "${call.method}"`)
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

/** History of the task alone would need each run's own share of the thread. */
function refuseScope(params: unknown): void {
  const { historyScope, configuration } = (params ?? {}) as {
    historyScope?: unknown
    configuration?: { historyScope?: unknown } | null
  }
  const scope = historyScope ?? configuration?.historyScope ?? "context"
  if (scope !== "context") throw new RpcError(codes.unsupported, 'only the historyScope "context" is supported yet')
}

async function send(parts: A2aParts, asking: Asking, family: Family, call: RpcCall): Promise<unknown> {
  const params = parseParams(sendParams, call.params)
  const { blocking, returnImmediately, historyLength } = params.configuration ?? {}
  const ended = new RunEnd()
  const { taskId, run } = await startTask(parts, asking, params, ended)
  const leave = () => {
    parts.streams.unsubscribe(run.run_id, ended)
    ended.end()
  }
  if (blocking === false || returnImmediately === true) leave()
  else {
    call.signal.addEventListener("abort", leave, { once: true })
    await ended.over
    call.signal.removeEventListener("abort", leave)
    // A task lives on without its client, which may ask for it by its id.
    if (!ended.hasEnd) throw new Unavailable(`task ${taskId} goes on: ask for it`)
  }
  return wrapTask(family, renderTask(family, await requireTask(parts, asking, taskId), historyLength ?? undefined))
}

/**
 * The results of a stream: the task, that it works, pieces of the answer, the answer in whole, how it ended.
 * @throws RpcError  before the first result
 */
export async function streamCall(parts: A2aParts, asking: Asking, call: RpcCall): Promise<AsyncGenerator<unknown>> {
  const params = parseParams(sendParams, call.params)
  refuseScope(call.params)
  const family = methodOf(call.method)?.family ?? "1.0"
  const pieces = new AnswerPieces()
  const { taskId, run } = await startTask(parts, asking, params, pieces)
  const leave = () => {
    parts.streams.unsubscribe(run.run_id, pieces)
    pieces.end()
  }
  call.signal.addEventListener("abort", leave, { once: true })
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
  // Only this server has stopped following: an end would tell that the task is over.
  if (!pieces.hasEnd) return
  const last = await requireTask(parts, asking, taskId)
  for (const artifact of last.artifacts) {
    yield artifactUpdate(family, last, artifact, { append: false, lastChunk: true })
  }
  yield statusUpdate(family, last)
}

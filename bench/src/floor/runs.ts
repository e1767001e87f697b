/** Executes runs immediately in this process, and sends their events to all listeners. */
import { randomUUID } from "node:crypto"
import type { ServerResponse } from "node:http"
import { setImmediate } from "node:timers/promises"
import { isBaseMessage } from "@langchain/core/messages"
import type { Graph } from "./graphs.js"

export interface RunRequest {
  readonly assistant_id: string
  readonly input: unknown
  readonly stream_mode?: string
  readonly durability?: string
  readonly config?: { readonly recursion_limit?: number }
}

export interface Run {
  readonly run_id: string
  readonly thread_id: string
  status: "running" | "success" | "error"
  updated_at: string
  readonly listeners: Set<ServerResponse>
}

export const startedRun = (threadId: string): Run => ({
  run_id: randomUUID(),
  thread_id: threadId,
  status: "running",
  updated_at: new Date().toISOString(),
  listeners: new Set(),
})

/** Executes a run and streams it to its current listeners until it has ended. */
export async function execute(run: Run, graph: Graph, request: RunRequest): Promise<void> {
  const { stream_mode = "values" } = request
  const streamMode = [stream_mode === "messages-tuple" ? "messages" : stream_mode]
  tell(run, "metadata", { run_id: run.run_id, attempt: 1 })
  // A graph that does not wait for anything would hold the first event back until its end.
  await setImmediate()
  try {
    const stream = await graph.stream(request.input, { ...optionsOf(run, request), streamMode })
    for await (const [mode, chunk] of stream) tell(run, mode, chunk)
    run.status = "success"
  } catch (error) {
    tell(run, "error", { error: (error as Error).name, message: (error as Error).message })
    run.status = "error"
  }
  run.updated_at = new Date().toISOString()
  tell(run, "end", { run_id: run.run_id, status: run.status })
  for (const listener of run.listeners) listener.end()
}

export const optionsOf = ({ thread_id }: Run, { durability, config }: RunRequest): object => ({
  configurable: { thread_id },
  ...(durability && { durability }),
  ...(config?.recursion_limit && { recursionLimit: config.recursion_limit }),
})

function tell({ listeners }: Run, name: string, data: unknown): void {
  if (listeners.size === 0) return
  const bytes = Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data, wireForm)}\n\n`)
  for (const listener of listeners) listener.write(bytes)
}

/** Serializes messages as their fields and a `type` instead of LangChain's constructor format. */
export function wireForm(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const message = this[key]
  return isBaseMessage(message) ? { type: message.type, id: message.id, content: message.content } : value
}

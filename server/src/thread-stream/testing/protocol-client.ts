/** A client of the newer streaming protocol without an SDK, and a scripted worker's protocol events. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { until } from "@superstep/toolkit/testing/until"
import { insertSystemAssistants } from "../../assistants/queries.js"
import type { ScriptedRun } from "../../testing/scripted-workers.js"
import type { OpenStream, TestHttp } from "../../testing/test-http.js"
import { executing } from "../../testing/thread-streams.js"

export interface ProtocolEventFrame {
  readonly type: "event"
  readonly event_id: string
  readonly seq: number
  readonly method: string
  readonly params: {
    readonly namespace: readonly string[]
    readonly timestamp: number
    readonly data: Record<string, unknown>
  }
}

export interface CommandReply {
  readonly type: "success" | "error"
  readonly id: number | null
  readonly result: Record<string, unknown>
  readonly error: string
  readonly message: string
  readonly meta: { readonly thread_id: string; readonly applied_through_seq: number }
}

export const everything = {
  channels: ["values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom"],
}

let lastId = 0

/** Sends one command over HTTP; it must be answered with a reply of the protocol. */
export async function sendCommand(
  http: TestHttp,
  threadId: string,
  method: string,
  params: object = {},
): Promise<CommandReply> {
  const id = ++lastId
  const { status, json, text } = await http.send("POST", `/threads/${threadId}/commands`, { id, method, params })
  assert.equal(status, 200, text)
  const reply = json as CommandReply
  assert.equal(reply.id, id)
  return reply
}

/** Starts a run. @returns its id */
export async function startRun(http: TestHttp, threadId: string, params: object = {}): Promise<string> {
  const reply = await sendCommand(http, threadId, "run.start", { assistant_id: "agent", input: { x: 0 }, ...params })
  assert.equal(reply.type, "success", reply.message)
  return reply.result.run_id as string
}

export async function openEvents(
  http: TestHttp,
  threadId: string,
  filter: object = everything,
  headers: Record<string, string> = {},
): Promise<OpenStream> {
  const stream = await http.stream("POST", `/threads/${threadId}/stream/events`, filter, headers)
  // A stopping server breaks the stream. That error must not hide why a test failed.
  stream.ended.catch(() => undefined)
  return stream
}

export function framesOf(stream: OpenStream): ProtocolEventFrame[] {
  assert.equal(stream.status, 200, stream.text())
  return stream.events().map(({ data }) => data as ProtocolEventFrame)
}

/** Each event in short: `lifecycle running`, `values a|b`. */
export const summaryOf = (frames: readonly ProtocolEventFrame[]): string[] =>
  frames.map(({ method, params: { namespace, data } }) =>
    [
      method,
      ...(method === "lifecycle" ? [data.event] : []),
      ...(namespace.length > 0 ? [namespace.join("|")] : []),
    ].join(" "),
  )

const rootStatuses = ["completed", "failed", "interrupted"]

/** Resolves when so many runs have reported their end. */
export const untilTerminals = (frames: () => readonly ProtocolEventFrame[], count: number) =>
  until(
    () =>
      frames().filter(
        ({ method, params: { namespace, data } }) =>
          method === "lifecycle" && namespace.length === 0 && rootStatuses.includes(String(data.event)),
      ).length === count,
    { what: `${count} runs have ended` },
  )

export { executing }

/** Emits an event as a worker does. */
export function emitProtocol(run: ScriptedRun, channel: string, data: unknown, namespace: readonly string[] = []) {
  const method = channel.startsWith("custom:") ? "custom" : channel
  return run.emit([`protocol:${channel}`, ...namespace].join("|"), {
    method,
    params: { namespace, timestamp: 1, data },
  })
}

export const firstInterrupt = "a".repeat(32)
export const secondInterrupt = "b".repeat(32)
export const interrupts = JSON.stringify({
  task: [
    { id: firstInterrupt, value: "one\u0000?" },
    { id: secondInterrupt, value: "two?" },
  ],
})

/** A thread with two open interrupts. */
export async function interrupted(http: TestHttp): Promise<string> {
  await insertSystemAssistants(http.server.db, ["agent"], {})
  const threadId = randomUUID()
  const run = await executing(await startRun(http, threadId), http)
  run.done({ status: "interrupted", next: ["node"], values: '{"x":0}', interrupts })
  const stream = await openEvents(http, threadId)
  await untilTerminals(() => framesOf(stream), 1)
  stream.leave()
  return threadId
}

/** The command of a run as JSON; null when it has none. */
export const commandOf = (run: { readonly order: { readonly command: string } }) =>
  JSON.parse(run.order.command || "null")

/** Renders a run and its thread as an A2A task. Pure. */
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import type { RunRow } from "../runs/queries.js"
import type { ThreadRow, ThreadStatus } from "../threads/thread.js"
import type { Artifact, Message, Part, Task, TaskState } from "./wire.js"

/** The newest run of a task, and its thread at the same moment. */
export interface TaskRun extends RunRow, Pick<ThreadRow, "values" | "interrupts"> {
  /** Whether the thread's state and open questions are those that this run has left. */
  readonly is_latest: boolean
  readonly thread_status: ThreadStatus
}

// The thread holds only its current state, so only its newest run has values to show.
export function taskOf(taskId: string, run: TaskRun): Task {
  const state = stateOf(run)
  const values: unknown = run.is_latest ? parseJson(run.values ?? "null") : null
  const messages = messagesIn(values)
  return {
    id: taskId,
    contextId: run.thread_id,
    state,
    updatedAt: run.updated_at,
    message: messageOf(state, run),
    artifacts: state === "completed" && values !== null ? [artifactOf(run.run_id, values)] : [],
    history: messages.flatMap(renderable),
  }
}

function stateOf(run: TaskRun): TaskState {
  switch (run.status) {
    case "pending":
      return "submitted"
    case "running":
      return "working"
    case "success":
      return "completed"
    case "interrupted":
      return run.is_latest && run.thread_status === "interrupted" ? "input-required" : "canceled"
    default:
      return "failed"
  }
}

function messageOf(state: TaskState, run: TaskRun): Message | undefined {
  if (state === "failed") {
    const { error, message } = parseJson(run.error ?? '{"error":"Error","message":"the run failed"}')
    return agentSays(run.run_id, [{ kind: "text", text: `${error}: ${message}` }])
  }
  if (state !== "input-required") return undefined
  const interrupts = Object.values(parseJson(run.interrupts) as Record<string, unknown[]>).flat()
  const questions = interrupts.map((interrupt) => (interrupt as { value?: unknown }).value)
  const texts = questions.map(
    (value): Part =>
      typeof value === "string" ? { kind: "text", text: value } : { kind: "text", text: toJsonText(value ?? null) },
  )
  // The client needs the ids to answer one of several interrupts.
  return agentSays(run.run_id, [...texts, { kind: "data", data: { interrupts } }])
}

const agentSays = (id: string, parts: readonly Part[]): Message => ({ role: "agent", parts, messageId: `${id}-status` })

export const artifactName = "Assistant Response"

/** The last message of the state. A graph without messages returns its whole state. */
function artifactOf(runId: string, values: unknown): Artifact {
  const last = messagesIn(values).at(-1)
  const text = last === undefined ? "" : textOf(last.content)
  const parts: Part[] = last === undefined ? [{ kind: "data", data: values }] : [{ kind: "text", text }]
  return { artifactId: runId, name: artifactName, parts }
}

interface GraphMessage {
  readonly type: string
  readonly id?: string | null
  readonly content: unknown
}

const isMessage = (value: unknown): value is GraphMessage =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string" && "content" in value

function messagesIn(values: unknown): GraphMessage[] {
  if (typeof values !== "object" || values === null || !("messages" in values)) return []
  return Array.isArray(values.messages) ? values.messages.filter(isMessage) : []
}

const roles: Readonly<Record<string, Message["role"]>> = { human: "user", ai: "agent" }

/** Only messages of the user and the assistant. Tool messages are internal to the graph. */
function renderable({ type, id, content }: GraphMessage, place: number): Message[] {
  const role = Object.hasOwn(roles, type) ? roles[type] : undefined
  const text = textOf(content)
  return role && text !== "" ? [{ role, parts: [{ kind: "text", text }], messageId: id ?? `message-${place}` }] : []
}

/** The text of a message's content, which may be a list of blocks. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.map((block: { text?: unknown }) => (typeof block?.text === "string" ? block.text : "")).join("")
}

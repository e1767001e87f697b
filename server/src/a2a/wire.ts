/**
 * Tasks and messages of A2A on the wire (agent-server-api §11). Two versions of the protocol are supported: 1.0
 * (`SendMessage`) and 0.3 (`message/send`). The version of the request's method decides how enum values are written and
 * whether a result is wrapped. Objects have the shape of 0.3 in both. Pure.
 */

export type Family = "1.0" | "0.3"

export type TaskState = "submitted" | "working" | "input-required" | "completed" | "canceled" | "failed"

export const isFinal = (state: TaskState): boolean =>
  state === "completed" || state === "canceled" || state === "failed"

export interface Part {
  readonly kind: "text" | "data"
  readonly text?: string
  readonly data?: unknown
}

export interface Message {
  readonly role: "user" | "agent"
  readonly parts: readonly Part[]
  readonly messageId: string
}

export interface Artifact {
  readonly artifactId: string
  readonly name: string
  readonly parts: readonly Part[]
}

export interface Task {
  readonly id: string
  readonly contextId: string
  readonly state: TaskState
  readonly updatedAt: Date
  /** What the task waits for, or why it failed. */
  readonly message: Message | undefined
  readonly artifacts: readonly Artifact[]
  readonly history: readonly Message[]
}

type Method = "send" | "stream" | "get" | "cancel" | "list" | "card"

const methods: Readonly<Record<string, readonly [Family, Method]>> = {
  SendMessage: ["1.0", "send"],
  SendStreamingMessage: ["1.0", "stream"],
  GetTask: ["1.0", "get"],
  CancelTask: ["1.0", "cancel"],
  ListTasks: ["1.0", "list"],
  GetExtendedAgentCard: ["1.0", "card"],
  "message/send": ["0.3", "send"],
  "message/stream": ["0.3", "stream"],
  "tasks/get": ["0.3", "get"],
  "tasks/cancel": ["0.3", "cancel"],
  "tasks/list": ["0.3", "list"],
  "agent/getAuthenticatedExtendedCard": ["0.3", "card"],
}

export function methodOf(name: string): { family: Family; method: Method } | undefined {
  const [family, method] = (Object.hasOwn(methods, name) ? methods[name] : undefined) ?? []
  return family && method && { family, method }
}

/** An error that is returned as a JSON-RPC error. */
export class RpcError extends Error {
  readonly rpcCode: number
  constructor(rpcCode: number, message: string) {
    super(message)
    this.rpcCode = rpcCode
  }
}

/** Error codes of JSON-RPC and of the A2A specification. */
export const codes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  taskNotFound: -32001,
  taskNotCancelable: -32002,
  unsupported: -32004,
  contentType: -32005,
} as const

const stateName = (family: Family, state: TaskState): string =>
  family === "0.3" ? state : `TASK_STATE_${state.replace("-", "_").toUpperCase()}`

const timestamp = (date: Date): string => date.toISOString().replace("Z", "+00:00")

function renderMessage(family: Family, task: Pick<Task, "id" | "contextId">, { role, parts, messageId }: Message) {
  const name = family === "0.3" ? role : `ROLE_${role.toUpperCase()}`
  return { kind: "message", role: name, parts, messageId, taskId: task.id, contextId: task.contextId }
}

const renderStatus = (family: Family, task: Task) => ({
  state: stateName(family, task.state),
  ...(task.message && { message: renderMessage(family, task, task.message) }),
  timestamp: timestamp(task.updatedAt),
})

/** @param historyLength  how many of the last messages to include; undefined: all */
export const renderTask = (family: Family, task: Task, historyLength: number | undefined) => ({
  kind: "task",
  id: task.id,
  contextId: task.contextId,
  status: renderStatus(family, task),
  artifacts: task.artifacts,
  history: lastOf(task.history, historyLength).map((message) => renderMessage(family, task, message)),
})

const lastOf = (history: readonly Message[], count = history.length): readonly Message[] =>
  count === 0 ? [] : history.slice(-count)

/** The result of `send`, and the first frame of a stream. */
export const wrapTask = (family: Family, task: ReturnType<typeof renderTask>) => (family === "1.0" ? { task } : task)

export function statusUpdate(family: Family, task: Task) {
  const { id: taskId, contextId } = task
  const final = isFinal(task.state) || task.state === "input-required"
  const update = { kind: "status-update", taskId, contextId, status: renderStatus(family, task), final }
  return family === "1.0" ? { statusUpdate: update } : update
}

/** @param how  whether to append to the parts sent before, and whether this is the last chunk */
export function artifactUpdate(
  family: Family,
  { id: taskId, contextId }: Pick<Task, "id" | "contextId">,
  artifact: Artifact,
  how: { append: boolean; lastChunk: boolean },
) {
  const update = { kind: "artifact-update", taskId, contextId, artifact, ...how }
  return family === "1.0" ? { artifactUpdate: update } : update
}

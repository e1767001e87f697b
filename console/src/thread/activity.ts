/** What a thread's graph is doing, from the events of its stream. Pure: one event after the other. */

/** An event of the newer streaming protocol, as far as it is read here. */
export interface ThreadEvent {
  /** The same on each connection: `<run>:<number>`, or `synth:<run>:<status>[:<attempt>]` for a run's own lifecycle. */
  readonly event_id?: string | undefined
  /** The place in the thread's log. */
  readonly seq?: number | undefined
  readonly method: string
  readonly params: { readonly namespace: readonly string[]; readonly timestamp?: number; readonly data: unknown }
}

export type NodeStatus = "running" | "done" | "failed" | "waiting"

export interface NodeActivity {
  readonly status: NodeStatus
  /** How often the node has run in this run. */
  readonly times: number
  /** Tasks that have not ended: several at once in a fan-out. */
  readonly tasks: ReadonlySet<string>
}

export interface Activity {
  readonly runId: string | undefined
  readonly status: "idle" | "running" | "completed" | "failed" | "interrupted"
  /** From 1; above it the run began again after its worker was lost. */
  readonly attempt: number
  /** By the node's id in the drawn graph: `refund:ask` is node `ask` of the graph in node `refund`. */
  readonly nodes: ReadonlyMap<string, NodeActivity>
  readonly error: string | undefined
}

export const noActivity: Activity = { runId: undefined, status: "idle", attempt: 1, nodes: new Map(), error: undefined }

export function follow(activity: Activity, event: ThreadEvent): Activity {
  const { namespace, data } = event.params
  if (!isObject(data)) return activity
  if (event.method === "lifecycle" && namespace.length === 0) return followRun(activity, event.event_id ?? "", data)
  if (event.method === "tasks") return followTask(activity, namespace, data)
  return activity
}

/** The id of a root's lifecycle event is `synth:<run>:<status>`, with `:<attempt>` for a later attempt. */
function followRun(activity: Activity, eventId: string, data: JsonObject): Activity {
  const [, runId, , attempt] = eventId.split(":")
  if (data.event === "running") {
    const isSameRun = runId !== undefined && runId === activity.runId
    // A later attempt goes on from the last checkpoint: what was done stays done, what was running is lost.
    const nodes = isSameRun ? without(activity.nodes, "running") : new Map()
    return { runId, status: "running", attempt: Number(attempt ?? 1), nodes, error: undefined }
  }
  if (data.event !== "completed" && data.event !== "failed" && data.event !== "interrupted") return activity
  const nodes =
    data.event === "failed" ? replaced(activity.nodes, "running", "failed") : without(activity.nodes, "running")
  const error = typeof data.error === "string" ? data.error : undefined
  return { ...activity, runId: runId ?? activity.runId, status: data.event, nodes, error }
}

function followTask(activity: Activity, namespace: readonly string[], task: JsonObject): Activity {
  const { id, name } = task
  if (typeof id !== "string" || typeof name !== "string") return activity
  const nodeId = nodeIdOf(namespace, name)
  const before = activity.nodes.get(nodeId)
  const nodes = new Map(activity.nodes)
  if ("input" in task || "triggers" in task) {
    const tasks = new Set(before?.tasks).add(id)
    nodes.set(nodeId, { status: "running", times: (before?.times ?? 0) + 1, tasks })
  } else {
    const tasks = new Set(before?.tasks)
    tasks.delete(id)
    nodes.set(nodeId, { status: statusOf(task, tasks.size), times: before?.times ?? 1, tasks })
  }
  return { ...activity, nodes }
}

function statusOf({ error, interrupts }: JsonObject, stillRunning: number): NodeStatus {
  if (error) return "failed"
  if (Array.isArray(interrupts) && interrupts.length > 0) return "waiting"
  return stillRunning > 0 ? "running" : "done"
}

/** @param namespace  segments `node:<task id>`, the outermost graph's first */
export const nodeIdOf = (namespace: readonly string[], name: string): string =>
  [...namespace.map((segment) => segment.split(":")[0]), name].join(":")

const without = (nodes: Activity["nodes"], status: NodeStatus): Activity["nodes"] =>
  new Map([...nodes].filter(([, node]) => node.status !== status))

const replaced = (nodes: Activity["nodes"], from: NodeStatus, to: NodeStatus): Activity["nodes"] =>
  new Map([...nodes].map(([id, node]) => [id, node.status === from ? { ...node, status: to } : node]))

/** A task of a state or of a checkpoint. */
export interface StateTask {
  readonly name: string
  readonly error?: unknown
  readonly interrupts?: readonly unknown[] | undefined
  readonly result?: unknown
  readonly state?: { readonly tasks?: readonly StateTask[] } | null | undefined
}

/**
 * Where a checkpoint's tasks stopped. Tasks that have a result are done only if others of the same step are not: else the
 * results belong to the next checkpoint.
 */
export function nodesOfTasks(tasks: readonly StateTask[], path: readonly string[] = []): Map<string, NodeActivity> {
  const nodes = new Map<string, NodeActivity>()
  const isStopped = tasks.some(({ error, interrupts }) => Boolean(error) || (interrupts?.length ?? 0) > 0)
  for (const task of isStopped ? tasks : []) {
    const status = task.error ? "failed" : task.interrupts?.length ? "waiting" : task.result ? "done" : undefined
    if (status) nodes.set([...path, task.name].join(":"), { status, times: 1, tasks: new Set() })
    for (const inner of nodesOfTasks(task.state?.tasks ?? [], [...path, task.name])) nodes.set(...inner)
  }
  return nodes
}

type JsonObject = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null

/** What the graph of a thread at rest shows: what its last run did, and where it stopped. Pure. */
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import { type Activity, type NodeActivity, nodesOfTasks, type StateTask } from "./activity.js"

/** The run that the last checkpoint belongs to executes its next tasks, or has failed in them. */
export type Ending = "running" | "failed"

/**
 * What the stream knows of nodes, if it knows anything: it has none of a run that began before its thread was watched.
 */
export const seenNodes = ({ nodes }: Activity): Activity["nodes"] | undefined => (nodes.size > 0 ? nodes : undefined)

/**
 * @param present  the newest checkpoint
 * @returns        the checkpoint that says what the present run does; none while the stream knows more, or while only an earlier run has written any
 */
export function tipOf(activity: Activity, present: TreeItem | undefined, ending?: Ending): TreeItem | undefined {
  if (ending !== "running" || activity.status === "idle") return present
  if (seenNodes(activity)) return undefined
  return present?.item.metadata?.run_id === activity.runId ? present : undefined
}

interface Known {
  /** The tip's tasks with the tasks of nested graphs in them. */
  readonly inner?: readonly StateTask[] | undefined
  /** What the stream has said of the same run. */
  readonly known?: ReadonlyMap<string, NodeActivity> | undefined
  readonly ending?: Ending | undefined
}

/**
 * @param items  the thread's checkpoints by their ids
 * @param tip    the checkpoint that is looked at; those before it in the same run show what has been done
 */
export function nodesAt(
  items: ReadonlyMap<string, TreeItem>,
  tip: TreeItem,
  { inner, known, ending }: Known = {},
): Map<string, NodeActivity> {
  const nodes = new Map<string, NodeActivity>(known ?? doneBefore(items, tip))
  const tasks = inner ?? tip.item.tasks ?? []
  const stopped = nodesOfTasks(tasks)
  for (const [id, node] of stopped) nodes.set(id, { ...node, times: Math.max(node.times, nodes.get(id)?.times ?? 0) })
  // A run whose worker died has no task that says so, and one that executes none either.
  if (ending !== undefined && stopped.size === 0)
    for (const { name, result } of tasks)
      if (!result) nodes.set(name, { status: ending, times: nodes.get(name)?.times ?? 1, tasks: new Set() })
  return nodes
}

function doneBefore(items: ReadonlyMap<string, TreeItem>, tip: TreeItem): Map<string, NodeActivity> {
  const nodes = new Map<string, NodeActivity>()
  const runId = tip.item.metadata?.run_id
  for (let each = before(items, tip); each && each.item.metadata?.run_id === runId; each = before(items, each))
    for (const { name } of each.item.tasks ?? []) {
      const times = (nodes.get(name)?.times ?? 0) + 1
      if (!name.startsWith("__")) nodes.set(name, { status: "done", times, tasks: new Set() })
    }
  return nodes
}

const before = (items: ReadonlyMap<string, TreeItem>, { parentId }: TreeItem): TreeItem | undefined =>
  parentId === undefined ? undefined : items.get(parentId)

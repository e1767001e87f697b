/** What the graph of a thread at rest shows: what its last run did, and where it stopped. Pure. */
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import { type NodeActivity, nodesOfTasks, type StateTask } from "./activity.js"

/**
 * @param items  the thread's checkpoints by their ids
 * @param tip    the checkpoint that is looked at; those before it in the same run show what has been done
 * @param inner  the tip's tasks with the tasks of nested graphs in them, where they are known
 */
export function nodesAt(
  items: ReadonlyMap<string, TreeItem>,
  tip: TreeItem,
  inner?: readonly StateTask[],
): Map<string, NodeActivity> {
  const nodes = new Map<string, NodeActivity>()
  const runId = tip.item.metadata?.run_id
  for (let each = before(items, tip); each && each.item.metadata?.run_id === runId; each = before(items, each))
    for (const { name } of each.item.tasks ?? []) {
      const times = (nodes.get(name)?.times ?? 0) + 1
      if (!name.startsWith("__")) nodes.set(name, { status: "done", times, tasks: new Set() })
    }
  for (const [id, node] of nodesOfTasks(inner ?? tip.item.tasks ?? [])) nodes.set(id, node)
  return nodes
}

const before = (items: ReadonlyMap<string, TreeItem>, { parentId }: TreeItem): TreeItem | undefined =>
  parentId === undefined ? undefined : items.get(parentId)

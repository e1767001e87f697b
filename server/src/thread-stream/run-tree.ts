/** The tree of a run's graphs, from the lifecycle events of its log. Pure. */

export interface LifecycleItem {
  readonly namespace: readonly string[]
  readonly event: string
  readonly graph_name?: string | undefined
}

export interface TreeNode {
  readonly namespace: readonly string[]
  status: string
  graph_name?: string
  children?: TreeNode[]
}

/**
 * @param items  in the order of the log
 * @returns the root with all graphs below it (protocol-v2 §1.4, `agent.getTree`)
 */
export function runTree(items: readonly LifecycleItem[]): TreeNode {
  const root: TreeNode = { namespace: [], status: "started" }
  for (const { namespace, event, graph_name } of items) {
    const node = nodeAt(root, namespace)
    node.status = event
    if (graph_name !== undefined) node.graph_name = graph_name
  }
  return root
}

function nodeAt(root: TreeNode, namespace: readonly string[]): TreeNode {
  let node = root
  for (let depth = 1; depth <= namespace.length; depth++) {
    node.children ??= []
    const path = namespace.slice(0, depth)
    const known = node.children.find((child) => child.namespace[depth - 1] === path[depth - 1])
    const child = known ?? { namespace: path, status: "started" }
    if (!known) node.children.push(child)
    node = child
  }
  return node
}

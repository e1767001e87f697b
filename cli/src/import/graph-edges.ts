/** Which nodes of a graph come before others: by which node a state can have been made whose history does not say it. Pure. */

export interface GraphEdges {
  readonly nodes: readonly string[]
  readonly edges: readonly { readonly source: string; readonly target: string }[]
}

/** @param drawing  the reply of `GET /assistants/{id}/graph` */
export const readEdges = ({ nodes, edges }: { nodes: { id: unknown }[]; edges: GraphEdges["edges"] }): GraphEdges => ({
  nodes: nodes.map(({ id }) => String(id)).filter((name) => name !== "__start__" && name !== "__end__"),
  edges,
})

/**
 * The nodes after which these can be next, the likeliest first. Without any such edge all nodes.
 * @param next  empty: the end
 */
export function producersOf({ nodes, edges }: GraphEdges, next: readonly string[]): readonly string[] {
  const targets = next.length === 0 ? ["__end__"] : next
  const leadsThere = (name: string) =>
    targets.every((target) => edges.some((edge) => edge.source === name && edge.target === target))
  const found = nodes.filter(leadsThere)
  return found.length === 0 ? nodes : found
}

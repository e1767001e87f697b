/** Where the nodes of a graph are drawn. Pure. Nested graphs are boxes around their nodes. */
import { Graph, layout as layOut } from "@dagrejs/dagre"
import type { DrawnGraph } from "../assistants/agent-graph.js"

export interface Point {
  readonly x: number
  readonly y: number
}

export interface PlacedNode extends Point {
  readonly id: string
  readonly label: string
  readonly kind: "node" | "box" | "end"
  readonly width: number
  readonly height: number
  /** The box that it is in. */
  readonly parent: string | undefined
}

export interface PlacedEdge {
  readonly id: string
  readonly source: string
  readonly target: string
  readonly isConditional: boolean
  /** A condition's outcome, where the graph names it. */
  readonly label: string | undefined
  readonly points: readonly Point[]
}

export interface GraphLayout {
  /** Boxes before what is in them. Positions are those of the upper left corner, in the whole drawing. */
  readonly nodes: readonly PlacedNode[]
  readonly edges: readonly PlacedEdge[]
  readonly width: number
  readonly height: number
}

const nodeHeight = 36
const endHeight = 26
// About the width of a letter of the labels' font, and the room around them for the status.
const letterWidth = 7.4
const labelRoom = 66

/** @param graph  ids of nodes in nested graphs are `outer:inner` */
export function layoutOf(graph: DrawnGraph): GraphLayout {
  const drawing = new Graph({ compound: true, multigraph: true })
  drawing.setGraph({ rankdir: "TB", nodesep: 26, ranksep: 42, edgesep: 18, marginx: 12, marginy: 12 })
  const all = graph.nodes.map(({ id }) => String(id))
  const groups = new Set(all.flatMap(boxesAround))
  const ids = all.filter((id) => !groups.has(id))
  const inside = (box: string, place: 0 | -1) => ids.filter((id) => id.startsWith(`${box}:`)).at(place) ?? box
  // dagre cannot lay out edges of boxes: such an edge ends at the first node in the box, or starts at the last one.
  const edges = graph.edges.map((edge) => ({
    ...edge,
    source: inside(String(edge.source), -1),
    target: inside(String(edge.target), 0),
  }))
  for (const id of groups) drawing.setNode(id, {})
  for (const id of ids) drawing.setNode(id, sizeOf(id))
  for (const id of [...groups, ...ids]) {
    const box = boxesAround(id).at(-1)
    if (box !== undefined) drawing.setParent(id, box)
  }
  for (const [position, { source, target }] of edges.entries())
    if (drawing.hasNode(source) && drawing.hasNode(target)) drawing.setEdge(source, target, {}, String(position))
  layOut(drawing)
  const { width = 0, height = 0 } = drawing.graph()
  const nodes = [...groups, ...ids].map((id) => placed(id, groups.has(id), drawing.node(id)))
  return { nodes: nodes.sort(byDepth), edges: edgesOf(edges, drawing), width, height }
}

function edgesOf(edges: readonly LaidEdge[], drawing: Graph): PlacedEdge[] {
  return edges.flatMap(({ source, target, conditional, data }, position) => {
    const edge = drawing.edge(source, target, String(position)) as { points: Point[] } | undefined
    if (!edge) return []
    return {
      id: `${source}→${target}#${position}`,
      source,
      target,
      isConditional: conditional === true,
      label: typeof data === "string" && data !== target ? data : undefined,
      points: edge.points.map(({ x, y }) => ({ x, y })),
    }
  })
}

type LaidEdge = DrawnGraph["edges"][number] & { readonly source: string; readonly target: string }

const placed = (id: string, isGroup: boolean, { x, y, width, height }: Point & Size): PlacedNode => ({
  id,
  label: labelOf(id),
  kind: isGroup ? "box" : isEnd(id) ? "end" : "node",
  x: x - width / 2,
  y: y - height / 2,
  width,
  height,
  parent: boxesAround(id).at(-1),
})

interface Size {
  readonly width: number
  readonly height: number
}

function sizeOf(id: string): Size {
  if (isEnd(id)) return { width: 58, height: endHeight }
  return { width: Math.max(92, Math.round(labelOf(id).length * letterWidth) + labelRoom), height: nodeHeight }
}

const lastPart = (id: string): string => id.split(":").at(-1) ?? id
const isEnd = (id: string): boolean => /^__(start|end)__$/.test(lastPart(id))
const labelOf = (id: string): string => lastPart(id).replace(/^__(start|end)__$/, "$1")

/** The boxes that a node is in, the outermost first. */
const boxesAround = (id: string): string[] => {
  const parts = id.split(":")
  return parts.slice(1).map((_, length) => parts.slice(0, length + 1).join(":"))
}

const byDepth = (a: PlacedNode, b: PlacedNode): number => boxesAround(a.id).length - boxesAround(b.id).length

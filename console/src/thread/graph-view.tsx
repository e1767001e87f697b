/** The graph of a thread, with what its nodes are doing. */
import { Background, Controls, ReactFlow, ReactFlowProvider, useNodesInitialized, useReactFlow } from "@xyflow/react"
import { useEffect, useMemo } from "react"
import type { DrawnGraph } from "../assistants/agent-graph.js"
import type { NodeActivity } from "./activity.js"
import { GraphEdge } from "./graph-edge.js"
import { type GraphLayout, layoutOf } from "./graph-layout.js"
import { EndNode, GroupNode, type NodeData, StepNode } from "./graph-nodes.js"

// Not "group": xyflow has styles of its own for that name.
const nodeTypes = { node: StepNode, box: GroupNode, end: EndNode }
const edgeTypes = { routed: GraphEdge }

interface Props {
  readonly graph: DrawnGraph
  /** By the id of the node in the graph. */
  readonly activity: ReadonlyMap<string, NodeActivity>
  /** Nodes that come next. */
  readonly next?: readonly string[]
}

export function GraphView(props: Props) {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  )
}

const noNext: readonly string[] = []

function Drawing({ graph, activity, next = noNext }: Props) {
  const layout = useMemo(() => layoutOf(graph), [graph])
  const nodes = useMemo(() => nodesOf(layout, activity, next), [layout, activity, next])
  const edges = useMemo(() => edgesOf(layout, activity), [layout, activity])
  return (
    <div className="graph">
      <p className="visually-hidden">{descriptionOf(layout, activity, next)}</p>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        fitView
        fitViewOptions={{ padding: 0.08, maxZoom: 1.15 }}
        minZoom={0.15}
        maxZoom={2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={18} size={1} />
        <Controls showInteractive={false} position="bottom-right" />
        <FitOnResize />
      </ReactFlow>
    </div>
  )
}

/** Keeps the whole graph in view when its panel changes its size. */
function FitOnResize() {
  const { fitView } = useReactFlow()
  const isReady = useNodesInitialized()
  useEffect(() => {
    const panel = document.querySelector(".graph")
    if (!panel || !isReady) return undefined
    const observer = new ResizeObserver(() => void fitView({ padding: 0.08, maxZoom: 1.15 }))
    observer.observe(panel)
    return () => observer.disconnect()
  }, [fitView, isReady])
  return null
}

function nodesOf({ nodes }: GraphLayout, activity: Props["activity"], next: readonly string[]) {
  const places = new Map(nodes.map((node) => [node.id, node]))
  return nodes.map(({ id, label, kind, x, y, width, height, parent }) => {
    const box = parent === undefined ? undefined : places.get(parent)
    return {
      id,
      type: kind,
      position: { x: x - (box?.x ?? 0), y: y - (box?.y ?? 0) },
      ...(box && { parentId: box.id }),
      data: { label, activity: activity.get(id), isNext: next.includes(id) } satisfies NodeData,
      width,
      height,
      style: { width, height },
      zIndex: kind === "box" ? 0 : 2,
    }
  })
}

function edgesOf({ edges }: GraphLayout, activity: Props["activity"]) {
  return edges.map(({ id, source, target, isConditional, label, points }) => ({
    id,
    source,
    target,
    type: "routed",
    data: { points, isConditional, label, isTaken: activity.get(target)?.status === "running" && activity.has(source) },
    zIndex: 1,
  }))
}

/** The same in words, for those who do not see it. */
function descriptionOf({ nodes }: GraphLayout, activity: Props["activity"], next: readonly string[]): string {
  const states = nodes
    .filter(({ kind }) => kind === "node")
    .map(({ id, label }) => `${label} ${activity.get(id)?.status ?? (next.includes(id) ? "next" : "")}`.trim())
  return `Graph: ${states.join(", ")}`
}

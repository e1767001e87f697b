/** An edge, along the way that the layout has found around the nodes. */
import { BaseEdge, EdgeLabelRenderer, type EdgeProps } from "@xyflow/react"
import type { Point } from "./graph-layout.js"
import { pathThrough } from "./path.js"

interface EdgeData extends Record<string, unknown> {
  readonly points: readonly Point[]
  readonly isConditional: boolean
  readonly isTaken: boolean
  readonly label: string | undefined
}

export function GraphEdge({ id, data }: EdgeProps) {
  const { points, isConditional, isTaken, label } = data as EdgeData
  const middle = points[Math.floor(points.length / 2)]
  const look = `graph-edge${isConditional ? " graph-edge-conditional" : ""}${isTaken ? " graph-edge-taken" : ""}`
  return (
    <>
      <BaseEdge id={id} path={pathThrough(points)} className={look} markerEnd="url(#graph-arrow)" />
      <Arrow />
      {label !== undefined && middle && (
        <EdgeLabelRenderer>
          <div
            className="graph-edge-label"
            style={{ transform: `translate(-50%, -50%) translate(${middle.x}px, ${middle.y}px)` }}
          >
            {label}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  )
}

const Arrow = () => (
  <defs>
    <marker
      id="graph-arrow"
      viewBox="0 0 10 10"
      refX="9"
      refY="5"
      markerWidth="7"
      markerHeight="7"
      orient="auto-start-reverse"
    >
      <path d="M 0 1 L 9 5 L 0 9 z" className="graph-arrow" />
    </marker>
  </defs>
)

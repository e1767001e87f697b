/** How the nodes of a graph look. */
import { Handle, type NodeProps, Position } from "@xyflow/react"
import type { NodeActivity, NodeStatus } from "./activity.js"
import { BreakpointMenu } from "./breakpoint-menu.js"

export interface NodeData extends Record<string, unknown> {
  readonly label: string
  readonly activity: NodeActivity | undefined
  readonly isNext: boolean
}

const marks: Readonly<Record<NodeStatus, string>> = { running: "", done: "✓", failed: "✕", waiting: "❚❚" }

/** Edges are drawn by their own points; xyflow needs the handles all the same. */
const Handles = () => (
  <>
    <Handle type="target" position={Position.Top} isConnectable={false} />
    <Handle type="source" position={Position.Bottom} isConnectable={false} />
  </>
)

const stateOf = ({ activity, isNext }: NodeData): string => activity?.status ?? (isNext ? "next" : "quiet")

export function StepNode({ data, id }: NodeProps & { data: NodeData }) {
  const { activity } = data
  return (
    <div
      className={`graph-node graph-${stateOf(data)}${data.isNext ? " graph-comes" : ""}`}
      data-node={id}
      data-status={stateOf(data)}
    >
      <Handles />
      <span className="graph-mark" aria-hidden>
        {activity ? marks[activity.status] : ""}
      </span>
      <span className="cut">{data.label}</span>
      {activity && activity.times > 1 && <span className="graph-times">×{activity.times}</span>}
      <BreakpointMenu nodeId={id} label={data.label} />
    </div>
  )
}

export function GroupNode({ data, id }: NodeProps & { data: NodeData }) {
  return (
    <div className={`graph-group graph-${stateOf(data)}`} data-node={id} data-status={stateOf(data)}>
      <span className="graph-group-label">{data.label}</span>
      <BreakpointMenu nodeId={id} label={data.label} />
    </div>
  )
}

export function EndNode({ data }: NodeProps & { data: NodeData }) {
  return (
    <div className="graph-end">
      <Handles />
      {data.label}
    </div>
  )
}

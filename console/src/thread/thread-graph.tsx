/** The graph beside the conversation: of the run that goes on, or of the checkpoint that is looked at. */
import { CatchBoundary, type ErrorComponentProps } from "@tanstack/react-router"
import { useMemo } from "react"
import { useDrawnGraph } from "../assistants/agent-graph.js"
import { BreakpointContext } from "../composer/breakpoints.js"
import type { RunOptionsState } from "../composer/run-options.js"
import { Loading } from "../frame/empty.js"
import { History as HistoryIcon } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import type { Activity, NodeActivity } from "./activity.js"
import type { Checkpoints } from "./branches.js"
import { GraphView } from "./graph-view.js"
import { useInnerTasks } from "./inner-tasks.js"
import { type Ending, nodesAt, seenNodes, tipOf } from "./rest.js"

interface Props {
  readonly threadId: string
  readonly assistantId: string
  readonly activity: Activity
  /** What became of the newest run, where it matters to its nodes. */
  readonly ending: Ending | undefined
  readonly items: Checkpoints
  readonly present: TreeItem | undefined
  readonly past: TreeItem | undefined
  /** The nodes that a breakpoint keeps from running. */
  readonly stoppedAt: readonly string[]
  /** undefined: no breakpoints can be set. */
  readonly runOptions: RunOptionsState | undefined
}

const noNext: readonly string[] = []

export function ThreadGraph(props: Props) {
  const { threadId, assistantId, activity, ending, items, present, past, stoppedAt, runOptions } = props
  const { data: graph, error, isPending } = useDrawnGraph(assistantId)
  // The stream does not say which node failed, and has nothing of a run before the page was opened: the checkpoint knows both.
  const shown = past ?? tipOf(activity, present, ending)
  const inner = useInnerTasks(threadId, shown)
  const nodes = useMemo(() => {
    const known = past === undefined ? seenNodes(activity) : undefined
    const nodes = shown ? nodesAt(items, shown, { inner, known, ending: past ? undefined : ending }) : activity.nodes
    return past ? nodes : withStopped(nodes, stoppedAt)
  }, [items, shown, inner, past, ending, activity, stoppedAt])
  return (
    <section className="thread-graph" aria-label="Graph">
      {error && <Problem error={error} next="The conversation works without the drawing." />}
      {activity.attempt > 1 && !past && (
        <p className="thread-attempt" role="status">
          attempt {activity.attempt}
        </p>
      )}
      {isPending && <Loading what="Loading the graph" />}
      {past && (
        <p className="thread-attempt thread-graph-past">
          <HistoryIcon size={12} aria-hidden /> as it was at step {String(past.item.metadata?.step ?? "?")}
        </p>
      )}
      {graph && (
        <CatchBoundary getResetKey={() => assistantId} errorComponent={NotDrawn}>
          <BreakpointContext value={runOptions}>
            <GraphView graph={graph} activity={nodes} next={shown?.item.next ?? noNext} />
          </BreakpointContext>
        </CatchBoundary>
      )}
    </section>
  )
}

function withStopped(nodes: ReadonlyMap<string, NodeActivity>, names: readonly string[]) {
  const stopped = names.map((name) => {
    const node: NodeActivity = { status: "waiting", times: nodes.get(name)?.times ?? 0, tasks: new Set() }
    return [name, node] as const
  })
  return new Map([...nodes, ...stopped])
}

const NotDrawn = ({ error }: ErrorComponentProps) => (
  <Problem error={error} next="The graph cannot be drawn. The conversation works without it." />
)

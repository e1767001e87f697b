/** The graph beside the conversation: of the run that goes on, or of the checkpoint that is looked at. */
import { CatchBoundary, type ErrorComponentProps } from "@tanstack/react-router"
import { useMemo } from "react"
import { useDrawnGraph } from "../assistants/agent-graph.js"
import { Problem } from "../frame/problem.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import type { Activity } from "./activity.js"
import { GraphView } from "./graph-view.js"
import { useInnerTasks } from "./inner-tasks.js"
import { type Ending, nodesAt, seenNodes, tipOf } from "./rest.js"

interface Props {
  readonly threadId: string
  readonly assistantId: string
  readonly activity: Activity
  /** What became of the newest run, where it matters to its nodes. */
  readonly ending: Ending | undefined
  readonly items: readonly TreeItem[]
  readonly present: TreeItem | undefined
  readonly past: TreeItem | undefined
}

const noNext: readonly string[] = []

export function ThreadGraph({ threadId, assistantId, activity, ending, items, present, past }: Props) {
  const { data: graph, error } = useDrawnGraph(assistantId)
  // The stream does not say which node failed, and has nothing of a run before the page was opened: the checkpoint knows both.
  const shown = past ?? tipOf(activity, present, ending)
  const inner = useInnerTasks(threadId, shown)
  const byId = useMemo(() => new Map(items.map((each) => [each.id, each])), [items])
  const nodes = useMemo(() => {
    const known = past === undefined ? seenNodes(activity) : undefined
    return shown ? nodesAt(byId, shown, { inner, known, ending: past ? undefined : ending }) : activity.nodes
  }, [byId, shown, inner, past, ending, activity])
  return (
    <section className="thread-graph" aria-label="Graph">
      {error && <Problem error={error} next="The conversation works without the drawing." />}
      {activity.attempt > 1 && !past && (
        <p className="thread-attempt" role="status">
          attempt {activity.attempt}
        </p>
      )}
      {graph && (
        <CatchBoundary getResetKey={() => assistantId} errorComponent={NotDrawn}>
          <GraphView graph={graph} activity={nodes} next={shown?.item.next ?? noNext} />
        </CatchBoundary>
      )}
    </section>
  )
}

const NotDrawn = ({ error }: ErrorComponentProps) => (
  <Problem error={error} next="The graph cannot be drawn. The conversation works without it." />
)

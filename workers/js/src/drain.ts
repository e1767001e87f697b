/** How a run stops between two super-steps of its root graph (W8). */
import type { CompiledGraph, PregelLoop } from "./langgraph.js"

/**
 * Has the graph throw `GraphDrained` before its next super-step once `isDraining` says so. LangGraph asks at that moment in every
 * version that can drain; an older one never asks, and the run goes on.
 *
 * The documented way, `control` in the config, also reaches the graphs that a node calls: they would stop half way, and the node
 * would execute again. LangGraph hands the loop of each graph to `_runLoop`, so the loop of this graph alone gets a control of ours.
 * @param graph  the run's own copy (`withPersistence`), which is changed
 */
export function drainBetweenSteps(graph: CompiledGraph, isDraining: () => boolean): void {
  const runLoop = graph._runLoop
  // A graph that runs elsewhere (RemoteGraph) has no loop here.
  if (runLoop === undefined) return
  graph._runLoop = (params) => {
    params.loop.control = eitherControl(isDraining, params.loop.control)
    return runLoop.call(graph, params)
  }
}

/** @param own  LangGraph's, which the graph's nodes see as `runtime.control` and may use */
function eitherControl(isDraining: () => boolean, own: PregelLoop["control"]): NonNullable<PregelLoop["control"]> {
  return {
    get drainRequested() {
      return isDraining() || own?.drainRequested === true
    },
    get drainReason() {
      return own?.drainReason
    },
  }
}

/** Whether this is how LangGraph ends a graph that was drained. */
export const isGraphDrained = (error: unknown): boolean => error instanceof Error && error.name === "GraphDrained"

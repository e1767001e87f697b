/** How a run stops between two super-steps of its root graph (W8). */

import { describeError } from "../errors/describe-error.js"
import type { CompiledGraph, PregelLoop } from "../loading/langgraph.js"

/**
 * Makes the graph throw `GraphDrained` before its next super-step once `isDraining` returns true. Every version that can drain calls
 * it at that moment; an older version never does, and the run goes on.
 *
 * The documented way, `control` in the config, also affects graphs that a node calls: they would stop half way, and the node would
 * execute again. LangGraph passes the loop of each graph to `_runLoop`, so only the loop of this graph gets our control.
 * @param graph  the run's own copy (`withPersistence`), which is changed
 */
export function drainBetweenSteps(graph: CompiledGraph, isDraining: () => boolean): void {
  const runLoop = graph._runLoop
  // A graph that executes on another server (RemoteGraph) has no loop here.
  if (runLoop === undefined) return
  graph._runLoop = (params) => {
    params.loop.control = eitherControl(isDraining, params.loop.control)
    return runLoop.call(graph, params)
  }
}

/** @param own  LangGraph's own control, which the graph's nodes see as `runtime.control` and may use */
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

/** Whether this is the error with which LangGraph ends a drained graph. */
export const isGraphDrained = (error: unknown): boolean => describeError(error).error === "GraphDrained"

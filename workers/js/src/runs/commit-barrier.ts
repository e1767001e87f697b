/** How a run with durability `sync` waits between two super-steps of its root graph (W3). */

import type { CompiledGraph } from "../loading/langgraph.js"

/**
 * Makes each super-step wait until all writes of the super-steps before it have a reply. A write that fails ends the run with its error.
 * LangGraph itself waits since 1.4.8 (langgraphjs#2604); then nothing is left to wait for. Like LangGraph, the first super-step does not
 * wait for the checkpoint of the input.
 * @param graph  the run's own copy (`withPersistence`), which is changed
 */
export function awaitCommitsBetweenSteps(graph: CompiledGraph): void {
  const runLoop = graph._runLoop
  // A graph that executes on another server (RemoteGraph) has no loop here.
  if (runLoop === undefined) return
  graph._runLoop = (params) => {
    const { loop } = params
    const tick = loop.tick
    let ticks = 0
    loop.tick = async (options) => {
      ticks += 1
      const isFirst = ticks === 1
      const goesOn = await tick.call(loop, options)
      if (goesOn && !isFirst) await Promise.all(loop.checkpointerPromises)
      return goesOn
    }
    return runLoop.call(graph, params)
  }
}

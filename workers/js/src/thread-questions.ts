/** The server's questions about a thread that only its graph can answer: its state and its history. */
import type { GraphHistoryCall, GraphStateCall, ServerCall } from "@superstep/protocol/worker/frames"
import { CheckpointLink } from "./checkpoint-link.js"
import { createCheckpointer } from "./checkpointer.js"
import type { Connection } from "./connection.js"
import { withPersistence } from "./graph-export.js"
import type { CompiledGraph, RunnableConfig } from "./langgraph.js"
import type { LoadedGraph } from "./loader.js"
import { createStore } from "./store.js"
import { threadState } from "./thread-state.js"

/** @returns  a ThreadState as on the wire */
export async function graphState(
  loaded: LoadedGraph,
  call: GraphStateCall,
  payload: readonly Buffer[],
  connection: Connection,
): Promise<object> {
  const { graph, config } = await readableGraph(loaded, call, payload, connection)
  const checkpoint = call.checkpoint_id === undefined ? {} : { checkpoint_id: call.checkpoint_id }
  const configurable = { ...config.configurable, ...checkpoint }
  return threadState(await graph.getState({ ...config, configurable }, { subgraphs: call.subgraphs }))
}

/** @returns  ThreadStates as on the wire, newest first */
export async function graphHistory(
  loaded: LoadedGraph,
  call: GraphHistoryCall,
  payload: readonly Buffer[],
  connection: Connection,
): Promise<object[]> {
  const { graph, config } = await readableGraph(loaded, call, payload, connection)
  const before = call.before === undefined ? {} : { before: { configurable: { checkpoint_id: call.before } } }
  const filter = call.filter === undefined ? {} : { filter: call.filter }
  const states: object[] = []
  for await (const snapshot of graph.getStateHistory(config, { limit: call.limit, ...before, ...filter })) {
    states.push(threadState(snapshot))
  }
  return states
}

async function readableGraph(
  loaded: LoadedGraph,
  call: ServerCall,
  payload: readonly Buffer[],
  connection: Connection,
): Promise<{ graph: CompiledGraph; config: RunnableConfig }> {
  const given: RunnableConfig =
    payload[0] === undefined || payload[0].length === 0 ? {} : JSON.parse(payload[0].toString("utf8"))
  const place = { thread_id: call.thread_id, checkpoint_ns: call.checkpoint_ns }
  const config = { ...given, configurable: { ...given.configurable, ...place } }
  const { graph, library } = await loaded.use(config, { accessContext: "threads.read", executionRuntime: null })
  const ask = connection.call.bind(connection)
  const link = new CheckpointLink({
    call: ask,
    threadId: call.thread_id,
    hasCheckpoint: true,
    eventsWritten: () => Promise.resolve(),
    awaitsCommits: true,
    onRefused: () => undefined,
  })
  const checkpointer = createCheckpointer(library.module, link)
  return { graph: withPersistence(graph, checkpointer, createStore(library.module, { call: ask })), config }
}

/** The server's questions about a thread that only its graph can answer: its state and its history. */
import type { GraphHistoryCall, GraphStateCall, ServerCall } from "@superstep/protocol/worker/frames"
import { CheckpointLink, type CheckpointLinkOptions } from "./checkpoint-link.js"
import { createCheckpointer } from "./checkpointer.js"
import type { Connection } from "./connection.js"
import { withPersistence } from "./graph-export.js"
import type { CompiledGraph, RunnableConfig } from "./langgraph.js"
import type { LoadedGraph } from "./loader.js"
import { createStore } from "./store.js"
import { selected, threadState } from "./thread-state.js"

/** @returns  a ThreadState as on the wire */
export async function graphState(
  loaded: LoadedGraph,
  call: GraphStateCall,
  payload: readonly Buffer[],
  connection: Connection,
): Promise<object> {
  const { graph, config } = await readableGraph(loaded, call, payload, connection)
  const snapshot = await graph.getState(config, { subgraphs: call.subgraphs })
  return selected(threadState(snapshot), call.select)
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
    states.push(selected(threadState(snapshot), call.select))
  }
  return states
}

async function readableGraph(
  loaded: LoadedGraph,
  call: GraphStateCall | GraphHistoryCall,
  payload: readonly Buffer[],
  connection: Connection,
): Promise<{ graph: CompiledGraph; config: RunnableConfig }> {
  const config = questionConfig(call, payload)
  const { graph, library } = await loaded.use(config, { accessContext: "threads.read", executionRuntime: null })
  const checkpointer = createCheckpointer(library.module, readingLink(call.thread_id, connection))
  const store = createStore(library.module, { call: connection.call.bind(connection) })
  return { graph: withPersistence(graph, checkpointer, store), config }
}

type ThreadCall = Extract<ServerCall, { readonly thread_id: string }>

/** The config that came with a question, with the place it is about. */
export function questionConfig(call: ThreadCall, [line]: readonly Buffer[]): RunnableConfig {
  const given: RunnableConfig = line === undefined || line.length === 0 ? {} : JSON.parse(line.toString("utf8"))
  const { thread_id, checkpoint_ns } = call
  const id = "checkpoint_id" in call ? call.checkpoint_id : undefined
  const place = { thread_id, checkpoint_ns, ...(id === undefined ? {} : { checkpoint_id: id }) }
  return { ...given, configurable: { ...given.configurable, ...place } }
}

/** Checkpoints that can be read and not written. */
export const readingLink = (threadId: string, connection: Connection): CheckpointLink =>
  readingLinkTo(threadId, connection.call.bind(connection))

export const readingLinkTo = (threadId: string, call: CheckpointLinkOptions["call"]): CheckpointLink =>
  new CheckpointLink({
    call,
    threadId,
    hasCheckpoint: true,
    eventsWritten: () => Promise.resolve(),
    awaitsCommits: true,
    onRefused: () => undefined,
  })

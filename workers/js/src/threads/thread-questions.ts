/** The server's calls about a thread that only its graph can answer: its state and its history. */
import type { GraphHistoryCall, GraphStateCall, ServerCall } from "@superstep/protocol/worker/frames"
import { CheckpointLink, type CheckpointLinkOptions } from "../checkpoints/checkpoint-link.js"
import { createCheckpointer } from "../checkpoints/checkpointer.js"
import type { CallFields, Connection, Reply } from "../connection/connection.js"
import { withPersistence } from "../loading/graph-export.js"
import type { CompiledGraph, RunnableConfig } from "../loading/langgraph.js"
import type { LoadedGraph } from "../loading/loader.js"
import { createStore } from "../store/store.js"
import { selected, startingState, threadState } from "./thread-state.js"

/** @returns  a ThreadState as on the wire */
export async function graphState(
  loaded: LoadedGraph,
  call: GraphStateCall,
  payload: readonly Buffer[],
  connection: Connection,
): Promise<object> {
  const { graph, config } = await readableGraph(loaded, call, payload, connection, sentAlong(call, payload))
  const snapshot = await graph.getState(config, { subgraphs: call.subgraphs })
  return selected(startingState(threadState(snapshot), call.starting), call.select)
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
  known?: KnownReply,
): Promise<{ graph: CompiledGraph; config: RunnableConfig }> {
  const config = questionConfig(call, payload)
  const { graph, library } = await loaded.use(config, { accessContext: "threads.read", executionRuntime: null })
  const checkpointer = createCheckpointer(library.module, linkTo(call.thread_id, connection, known))
  const store = createStore(library.module, { call: connection.call.bind(connection) })
  return { graph: withPersistence(graph, checkpointer, store), config }
}

/** Returns the reply to a call that need not be sent. */
type KnownReply = (fields: CallFields) => Reply | undefined

/** The server sends the checkpoint of a state with the call, because the graph requests it first. */
function sentAlong(call: GraphStateCall, payload: readonly Buffer[]): KnownReply | undefined {
  const { thread_id, checkpoint_id, tuple } = call
  if (tuple === undefined) return undefined
  const reply: Reply = { header: { type: "reply", call_id: call.call_id, tuple }, payload: payload.slice(1) }
  // Without an id the graph requests the newest checkpoint, which this is only if the call named none.
  const isIt = (id: string | undefined) => (id === undefined ? checkpoint_id === undefined : id === tuple.checkpoint_id)
  return (fields) =>
    fields.method === "checkpoint.get" &&
    fields.thread_id === thread_id &&
    fields.checkpoint_ns === tuple.checkpoint_ns &&
    isIt(fields.checkpoint_id)
      ? reply
      : undefined
}

const linkTo = (threadId: string, connection: Connection, known: KnownReply | undefined): CheckpointLink =>
  readingLinkTo(threadId, async (fields, lines) => known?.(fields) ?? (await connection.call(fields, lines)))

type ThreadCall = Extract<ServerCall, { readonly thread_id: string }>

/** The config of a call, with the requested checkpoint. */
export function questionConfig(call: ThreadCall, [line]: readonly Buffer[]): RunnableConfig {
  const given: RunnableConfig = line === undefined || line.length === 0 ? {} : JSON.parse(line.toString("utf8"))
  const { thread_id, checkpoint_ns } = call
  const id = "checkpoint_id" in call ? call.checkpoint_id : undefined
  const place = { thread_id, checkpoint_ns, ...(id === undefined ? {} : { checkpoint_id: id }) }
  return { ...given, configurable: { ...given.configurable, ...place } }
}

/** A link that can only read checkpoints. */
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

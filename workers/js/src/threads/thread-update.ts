/** Computes updates of a thread's state with its graph; the server writes them (protocol/worker). */
import type { GraphUpdateStateCall, ReplyFrame } from "@superstep/protocol/worker/frames"
import { createCheckpointer } from "../checkpoints/checkpointer.js"
import { GatheringLink } from "../checkpoints/gathering-link.js"
import type { Connection } from "../connection/connection.js"
import { withPersistence } from "../loading/graph-export.js"
import type { Library } from "../loading/library.js"
import type { LoadedGraph } from "../loading/loader.js"
import { createStore } from "../store/store.js"
import { type CommandFields, toCommand } from "../values/command.js"
import { serialise } from "../values/serialise.js"
import { questionConfig, readingLink } from "./thread-questions.js"
import { openInterrupts } from "./thread-state.js"

interface Update {
  readonly values?: unknown
  readonly command?: CommandFields | null
  readonly as_node?: string | null
}

/** A reply without the fields that the connection adds. */
export interface UpdateReply {
  readonly fields: Pick<ReplyFrame, "checkpoint" | "puts" | "payload">
  readonly lines: readonly string[]
}

/**
 * Calls LangGraph's `bulkUpdateState` and collects its writes.
 * @throws the error of LangGraph or a reducer; then nothing must be written
 */
export async function graphUpdateState(
  loaded: LoadedGraph,
  call: GraphUpdateStateCall,
  payload: readonly Buffer[],
  connection: Connection,
): Promise<UpdateReply> {
  const config = questionConfig(call, payload)
  const { graph: shared, library } = await loaded.use(config, {
    accessContext: "threads.update",
    executionRuntime: null,
  })
  const link = new GatheringLink(readingLink(call.thread_id, connection))
  const store = createStore(library.module, { call: connection.call.bind(connection) })
  const graph = withPersistence(shared, createCheckpointer(library.module, link), store)

  const updated = await graph.bulkUpdateState(config, superstepsOf(library, payload[1]))
  const state = await graph.getState({ configurable: { thread_id: call.thread_id } })

  const lines = [["values", serialise(state.values)], ["interrupts", serialise(openInterrupts(state))], ...link.lines]
  const names = lines.map(([name]) => name) as NonNullable<ReplyFrame["payload"]>
  const { thread_id, checkpoint_ns, checkpoint_id, checkpoint_map } = updated.configurable ?? {}
  const checkpoint = { thread_id, checkpoint_ns, checkpoint_id, checkpoint_map }
  return { fields: { checkpoint, puts: link.puts, payload: names }, lines: lines.map(([, line = ""]) => line) }
}

function superstepsOf(library: Library, line: Buffer | undefined): object[] {
  const supersteps: { updates: Update[] }[] = JSON.parse(line?.toString("utf8") ?? "[]")
  return supersteps.map(({ updates }) => ({ updates: updates.map((update) => updateOf(library, update)) }))
}

function updateOf(library: Library, { values, command, as_node: asNode }: Update): object {
  const given = command === undefined || command === null ? (values ?? null) : toCommand(library, command, undefined)
  return { values: given, ...(asNode === undefined || asNode === null ? {} : { asNode }) }
}

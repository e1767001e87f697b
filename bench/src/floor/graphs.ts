/** The benchmark's graphs in the floor: in the same process, with one MemorySaver per thread. */
import { readFile } from "node:fs/promises"
import { MemorySaver } from "@langchain/langgraph"

/** The methods of a compiled graph that the floor uses. The benchmark's graphs are plain JavaScript without types. */
export interface Graph {
  checkpointer: unknown
  stream(input: unknown, options: object): Promise<AsyncIterable<[mode: string, chunk: unknown]>>
  invoke(input: unknown, options: object): Promise<unknown>
  getState(config: object): Promise<{ values: unknown }>
  getStateHistory(config: object, options: { limit: number }): AsyncIterable<unknown>
}

export type Graphs = ReadonlyMap<string, Graph>

/** Loads the graphs of `langgraph.json`. */
export async function loadGraphs(folder: URL): Promise<Graphs> {
  const config = JSON.parse(await readFile(new URL("langgraph.json", folder), "utf8")) as {
    graphs: Record<string, string>
  }
  const loaded = Object.entries(config.graphs).map(async ([name, place]) => {
    const [path = "", exported = ""] = place.split(":")
    const module = (await import(new URL(path, folder).href)) as Record<string, Graph>
    const graph = module[exported]
    if (!graph) throw new TypeError(`${path} has no ${exported}`)
    return [name, graph] as const
  })
  return new Map(await Promise.all(loaded))
}

/** A graph with its own saver, so that the state of a stateless run is garbage-collected with the graph. */
export const withOwnSaver = (graph: Graph): Graph =>
  Object.assign(Object.create(Object.getPrototypeOf(graph)), graph, { checkpointer: new MemorySaver() })

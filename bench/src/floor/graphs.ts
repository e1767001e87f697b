/** The benchmark's graphs as the floor runs them: in its own process, each thread with a MemorySaver of its own. */
import { readFile } from "node:fs/promises"
import { MemorySaver } from "@langchain/langgraph"

/** What we use of a compiled graph; the benchmark's graphs are plain JavaScript, as a user's may be. */
export interface Graph {
  checkpointer: unknown
  stream(input: unknown, options: object): Promise<AsyncIterable<[mode: string, chunk: unknown]>>
  invoke(input: unknown, options: object): Promise<unknown>
  getState(config: object): Promise<{ values: unknown }>
  getStateHistory(config: object, options: { limit: number }): AsyncIterable<unknown>
}

export type Graphs = ReadonlyMap<string, Graph>

/** Loads what `langgraph.json` names. */
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

/** A saver for one thread only: what a stateless run leaves is garbage as soon as nobody holds its graph. */
export const withOwnSaver = (graph: Graph): Graph =>
  Object.assign(Object.create(Object.getPrototypeOf(graph)), graph, { checkpointer: new MemorySaver() })

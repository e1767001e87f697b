/** What a project may export as a graph, and how it becomes a compiled one (protocol-v2 §3.6). Pure but for awaiting. */
import type { CompiledGraph, RunnableConfig } from "./langgraph.js"

/** The purpose of a factory's call. */
export interface FactoryRuntime {
  readonly accessContext: "threads.create_run" | "threads.read" | "threads.update" | "assistants.read"
  /** Only a run has one. */
  readonly executionRuntime: { readonly context: object } | null
}

export type GraphFactory = (config: RunnableConfig, runtime: FactoryRuntime) => unknown

export function isFactory(value: unknown): value is GraphFactory {
  return typeof value === "function"
}

/**
 * A compiled graph, a `StateGraph` that is not compiled yet, the wrapper that `createAgent` makes, or a promise of one.
 * @throws  an error that says what was found instead
 */
export async function compiled(exported: unknown): Promise<CompiledGraph> {
  const value = await exported
  if (typeof value !== "object" || value === null) throw new Error(`is not a graph but ${described(value)}`)
  // The agent wrapper looks compiled itself; the graph inside is what has a checkpointer to replace.
  if ("graph" in value && isCompiled(value.graph)) return value.graph
  if (isCompiled(value)) return value
  if ("compile" in value && typeof value.compile === "function") return compiled(value.compile())
  throw new Error("is not a graph: export a compiled graph, a StateGraph, or a function that makes one")
}

/**
 * A copy that shares everything but its checkpointer and store. The graph itself is shared by concurrent runs and is
 * never changed (protocol-v2 §3.4).
 */
export function withPersistence(graph: CompiledGraph, checkpointer: object, store: object): CompiledGraph {
  const copy: CompiledGraph = Object.create(Object.getPrototypeOf(graph), Object.getOwnPropertyDescriptors(graph))
  return Object.assign(copy, { checkpointer, store })
}

function isCompiled(value: unknown): value is CompiledGraph {
  return typeof value === "object" && value !== null && "lg_is_pregel" in value && value.lg_is_pregel === true
}

function described(value: unknown): string {
  return value === null ? "null" : value === undefined ? "undefined" : `a ${typeof value}`
}

/** Loads the graphs of a project once and provides them for each use. */
import { existsSync, readdirSync, realpathSync } from "node:fs"
import { dirname, relative, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type { GraphError } from "@superstep/protocol/worker/frames"
import { describeError, stackOf } from "../errors/describe-error.js"
import { codeFrame } from "./code-frame.js"
import { compiled, type FactoryRuntime, isFactory } from "./graph-export.js"
import { parseSpec, type Spec } from "./graph-spec.js"
import type { CompiledGraph, RunnableConfig } from "./langgraph.js"
import { findLibrary, importLibraryEarly, type Library } from "./library.js"
import { enableProjectModules, importFrom } from "./project-modules.js"

type Exports = Readonly<Record<string, unknown>>

export interface LoadedGraph {
  /** The LangGraph that its file sees, for factories and for the version. */
  readonly library: Library
  /** The graph that every use shares; undefined for a factory. */
  readonly shared: CompiledGraph | undefined
  /** A factory is called again for every use; any other export is one shared graph. */
  use(config: RunnableConfig, runtime: FactoryRuntime): Promise<{ graph: CompiledGraph; library: Library }>
}

export interface LoadResult {
  readonly graphs: ReadonlyMap<string, LoadedGraph>
  readonly failed: readonly { readonly graph_id: string; readonly error: GraphError }[]
}

/**
 * Prepares a process once, before it imports files of a project.
 * @param project  folder that the paths are relative to
 * @param specs    `path:export` by graph id; a process that loads no graphs needs no LangGraph
 */
export async function openProject(project: string, specs: Readonly<Record<string, string>>): Promise<void> {
  const [spec] = Object.values(specs)
  if (spec !== undefined) await importLibraryEarly(pathToFileURL(resolve(project, spec)).href)
  enableProjectModules()
}

/**
 * Loads every graph; a failure of one does not prevent the others from loading.
 * @param project  folder that the paths are relative to
 * @param specs    `path:export` by graph id
 * @param onGraph  called before each graph is loaded, since user code can end the process
 */
export async function loadGraphs(
  project: string,
  specs: Readonly<Record<string, string>>,
  onGraph: (graphId: string) => void = () => {},
): Promise<LoadResult> {
  const root = realpathSync(project)
  const graphs = new Map<string, LoadedGraph>()
  const failed: { graph_id: string; error: GraphError }[] = []
  // One after the other: so shared files are compiled once, and errors come in the order of the graphs.
  for (const [graphId, spec] of Object.entries(specs)) {
    onGraph(graphId)
    try {
      graphs.set(graphId, await loadGraph(root, spec))
    } catch (error) {
      failed.push({ graph_id: graphId, error: graphError(error, root) })
    }
  }
  return { graphs, failed }
}

/**
 * Imports what a path names.
 * @param project  real path of the folder that `path` is relative to
 */
export async function importExport(project: string, { path, name }: Spec): Promise<{ url: string; exported: unknown }> {
  const url = pathToFileURL(sourceFile(project, path)).href
  return { url, exported: await pick(await importFrom(url, url), name, path) }
}

async function loadGraph(project: string, spec: string): Promise<LoadedGraph> {
  const { path, name } = parseSpec(spec)
  const { url, exported } = await importExport(project, { path, name })
  if (isFactory(exported)) {
    const library = await findLibrary(url)
    return {
      library,
      shared: undefined,
      async use(config, runtime) {
        const graph = await namedGraph(exported(config, runtime), `the result of ${path}:${name}`)
        return { graph, library: await findLibrary(url, graph) }
      },
    }
  }
  const graph = await namedGraph(exported, `${path}:${name}`)
  const library = await findLibrary(url, graph)
  return { library, shared: graph, use: () => Promise.resolve({ graph, library }) }
}

function sourceFile(project: string, path: string): string {
  const file = resolve(project, path)
  if (existsSync(file)) return realpathSync(file)
  throw new Error(`no such file: ${relative(project, file)}; ${beside(dirname(file))}`)
}

function beside(folder: string): string {
  if (!existsSync(folder)) return "its folder does not exist either"
  const names = readdirSync(folder).filter((name) => /\.[cm]?[jt]sx?$/.test(name))
  return names.length === 0 ? "its folder has no TypeScript or JavaScript" : `its folder has ${names.sort().join(", ")}`
}

async function pick(module: Exports, name: string, path: string): Promise<unknown> {
  const exports = exportsOf(module)
  if (name in exports) return await exports[name]
  const names = Object.keys(exports).filter((each) => each !== "__esModule" && each !== "module.exports")
  const found = names.length === 0 ? "it exports nothing" : `it exports ${names.sort().join(", ")}`
  throw new Error(`${path} has no export "${name}": ${found}`)
}

/** The exports of a CommonJS file are below `default`, with or without a compiler's `__esModule` marker. */
function exportsOf(module: Exports): Exports {
  const inner = module.default
  if (typeof inner !== "object" || inner === null) return module
  if ("__esModule" in inner) return { ...inner }
  const isPlain = Object.getPrototypeOf(inner) === Object.prototype
  return isPlain && "module.exports" in module ? { ...inner, ...module } : module
}

async function namedGraph(exported: unknown, origin: string): Promise<CompiledGraph> {
  try {
    return await compiled(exported)
  } catch (error) {
    const { message } = describeError(error)
    if (message.startsWith("is not a graph")) throw new Error(`${origin} ${message}`, { cause: error })
    throw error
  }
}

/** The error of a file that did not load, for a person. */
export function graphError(thrown: unknown, project: string): GraphError {
  const { error: name, message } = describeError(thrown)
  const stack = stackOf(thrown)
  const frame = codeFrame({ message, stack }, project)
  return {
    name,
    // An error without a message still has a name, such as `AssertionError`.
    message: message === "" ? name : message,
    ...(stack === undefined ? {} : { stack }),
    ...(frame === undefined ? {} : { code_frame: frame }),
  }
}

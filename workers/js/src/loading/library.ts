/** The copy of LangGraph that a graph was made with. It is always the project's copy; objects of two copies cannot be mixed. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import type { LangGraphModule } from "./langgraph.js"
import { importFrom } from "./project-modules.js"

type Exports = Readonly<Record<string, unknown>>

export interface Library {
  readonly module: LangGraphModule
  /** Such as `1.4.12`; undefined when unknown. */
  readonly version: string | undefined
  /** Whether it is of this version or newer; an unknown version counts as the newest. */
  isSince(version: string): boolean
  /** A module of `@langchain/core` as LangGraph sees it. */
  core(path: string): Promise<Exports | undefined>
}

const packageName = "@langchain/langgraph"

/**
 * Finds the library as the graph's own file sees it.
 *
 * A file that is compiled to CommonJS (no `"type": "module"` in its package.json) gets the package's CommonJS build, whose
 * classes differ. So the build is chosen whose `Pregel` made the graph.
 * @param file   URL of the file that exports the graph
 * @param graph  undefined when there is none yet: then the build that an import gives is chosen
 */
export async function findLibrary(file: string, graph?: object): Promise<Library> {
  const host = packageHost(file)
  const version = installedVersion(host)
  const common = { version, isSince: (wanted: string) => version === undefined || isSince(version, wanted) }
  const core = (path: string) =>
    importIfThere(`@langchain/core/${path}`, pathToFileURL(createRequire(host).resolve(packageName)).href)
  if (graph !== undefined && !isMadeBy(await importFrom(`${packageName}/pregel`, host), graph)) {
    const require = createRequire(host)
    if (isMadeBy(require(`${packageName}/pregel`), graph))
      return { ...common, module: asLangGraph(require(packageName)), core }
  }
  return { ...common, module: asLangGraph(await importFrom(packageName, host)), core }
}

/**
 * Imports the library that the file will see, before tsx registers its hooks. LangGraph and its dependencies are 400 modules
 * that need no compiling, and with hooks each costs a message to the hooks' thread: with this a graph loads in half the time,
 * and the process uses a quarter less memory (bench/measurements.md).
 *
 * Failures are ignored here: they are reported when the import of a graph fails.
 * @param file  URL of a file that need not exist
 */
export async function importLibraryEarly(file: string): Promise<void> {
  try {
    const entry = moduleEntry(packageHost(file))
    if (entry !== undefined) await import(entry)
  } catch {
    // See above.
  }
}

/** The file that `import` resolves to, by the package's manifest. `require.resolve` gives the CommonJS build. */
function moduleEntry(host: string): string | undefined {
  const path = createRequire(host).resolve(`${packageName}/package.json`)
  const manifest = JSON.parse(readFileSync(path, "utf8"))
  const told = manifest.exports?.["."]?.import
  const entry = typeof told === "string" ? told : told?.default
  return typeof entry === "string" ? new URL(entry, pathToFileURL(path)).href : undefined
}

/** A project may depend only on `langchain`, which then has LangGraph in a folder that only it can import from. */
function packageHost(file: string): string {
  const { resolve } = createRequire(file)
  try {
    resolve(packageName)
    return file
  } catch (cause) {
    const langchain = attempt(() => resolve("langchain"))
    if (langchain !== undefined) return pathToFileURL(langchain).href
    throw new Error(`the project does not have ${packageName}: add it to its dependencies and install them`, { cause })
  }
}

/** Whether a version such as `1.7.3` is `wanted` or newer. What follows a hyphen does not count. */
export function isSince(version: string, wanted: string): boolean {
  const [have = [], least = []] = [version, wanted].map((text) =>
    text.split(".").map((part) => Number.parseInt(part, 10)),
  )
  const index = least.findIndex((part, at) => have[at] !== part)
  return index === -1 || Number(have[index]) > Number(least[index])
}

function isMadeBy({ Pregel }: Exports, graph: object): boolean {
  return typeof Pregel === "function" && graph instanceof Pregel
}

/** A package that does not export its package.json still works; only its version is unknown. */
function installedVersion(host: string): string | undefined {
  const path = attempt(() => createRequire(host).resolve(`${packageName}/package.json`))
  const manifest: unknown = path === undefined ? {} : JSON.parse(readFileSync(path, "utf8"))
  if (typeof manifest !== "object" || manifest === null || !("version" in manifest)) return undefined
  return typeof manifest.version === "string" ? manifest.version : undefined
}

async function importIfThere(specifier: string, host: string): Promise<Exports | undefined> {
  try {
    return await importFrom(specifier, host)
  } catch {
    // Older versions do not have every module, or do not export it.
    return undefined
  }
}

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work()
  } catch {
    // Not installed, or not exported by its package. Both callers handle that.
    return undefined
  }
}

/** Checks only the names of the exports; the package guarantees their types. */
function asLangGraph(exports: Exports): LangGraphModule {
  const names = ["BaseCheckpointSaver", "BaseStore", "Command", "Send"]
  const missing = names.filter((name) => typeof exports[name] !== "function")
  if (missing.length > 0) throw new Error(`the project's ${packageName} has no ${missing.join(", ")}: update it`)
  return exports as unknown as LangGraphModule
}

/** What can be said about a project's graphs in Python without loading them, which needs the project's own packages. */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { LoadedGraphs } from "./load-graphs.js"
import type { Project } from "./project.js"

/**
 * The graphs that cannot load: the spec names no object, or a file that does not exist. A module is not looked for.
 * @see workers/python/superstep_worker/loading/loader.py
 */
export async function failedPythonGraphs({ folder, pythonGraphs }: Project): Promise<LoadedGraphs["failed"]> {
  const found = Object.entries(pythonGraphs).map(async ([id, spec]) => ({
    graph_id: id,
    message: await problemOf(folder, spec),
  }))
  return (await Promise.all(found)).flatMap(({ message, ...it }) => (message === undefined ? [] : [{ ...it, message }]))
}

async function problemOf(folder: string, spec: string): Promise<string | undefined> {
  const [, path, name] = spec.match(/^(.+):([^:]+)$/) ?? []
  if (!path || !name) return `"${spec}" must be a path and a name, such as "./src/agent.py:graph"`
  const isFile = path.endsWith(".py") || path.includes("/")
  if (!isFile || (await stat(join(folder, path)).catch(ifCode(missing)))?.isFile()) return undefined
  return `no such file: ${path}`
}

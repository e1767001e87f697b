/** The graphs that a `langgraph.json` names (agent-server API §17); everything else in it is the server's matter. */
import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { type Language, languageOf } from "@superstep/protocol/worker/language"
import { graphIdProblem, parseJsonFile } from "@superstep/protocol/worker/project-file"

export interface ProjectGraphs {
  /** The folder of the file; graph paths are relative to it. */
  readonly project: string
  /** `path:export` by graph id; empty when all graphs are in another language. */
  readonly graphs: Readonly<Record<string, string>>
}

/** @throws  an error that says what is wrong with the file */
export function readGraphs(path: string, language: Language = "javascript"): ProjectGraphs {
  const { graphs }: { graphs?: unknown } = parse(path)
  if (typeof graphs !== "object" || graphs === null || Object.keys(graphs).length === 0) {
    throw new Error(`${path} names no graphs: "graphs" must map ids to paths such as "./src/graph.ts:graph"`)
  }
  const problem = graphIdProblem(graphs)
  if (problem !== undefined) throw new Error(`${path} cannot be used: ${problem}`)
  const specs = Object.entries(graphs).map(([graphId, value]) => [graphId, spec(graphId, value)] as const)
  const ours = specs.filter(([, each]) => languageOf(each) === language)
  return { project: dirname(resolve(path)), graphs: Object.fromEntries(ours) }
}

function parse(path: string): object {
  const text = readFileSync(path, "utf8")
  try {
    const config: unknown = parseJsonFile(text)
    if (typeof config === "object" && config !== null) return config
  } catch (cause) {
    throw new Error(`${path} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
  throw new Error(`${path} is not a JSON object`)
}

function spec(graphId: string, value: unknown): string {
  if (typeof value === "string") return value
  if (typeof value === "object" && value !== null && "path" in value && typeof value.path === "string")
    return value.path
  throw new Error(`graph "${graphId}" must be "path:export" or {"path": "path:export"}`)
}

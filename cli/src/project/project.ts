/** The folder of a project: its `langgraph.json`, and the graphs that it names. The server checks the rest. */
import { readFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { languageOf } from "@superstep/protocol/worker/language"
import { parseJsonFile } from "@superstep/protocol/worker/project-file"
import { KnownError } from "@superstep/toolkit/errors/errors"

export interface Project {
  readonly configPath: string
  readonly folder: string
  /** In the order of the file. */
  readonly graphs: readonly string[]
  /** `./agent.py:graph` by graph id, for the graphs in Python. */
  readonly pythonGraphs: Readonly<Record<string, string>>
  /** `env` as in the file; the server validates it. */
  readonly env: unknown
}

export class NoProject extends KnownError {
  readonly code = "no_project"
}

/** @throws NoProject  when there is no such file, or it is not JSON or names no graph */
export async function readProject(config: string): Promise<Project> {
  const configPath = resolve(config)
  const file = parse(configPath, await readConfigFile(configPath))
  return {
    configPath,
    folder: dirname(configPath),
    graphs: graphsOf(configPath, file),
    pythonGraphs: pythonGraphsOf(field(file, "graphs")),
    env: field(file, "env"),
  }
}

async function readConfigFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8")
  } catch (cause) {
    // ENOTDIR: the given folder is a file.
    if (!["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "")) throw cause
    const advice = "give its path with --config, or create a project with: superstep new my-agent"
    throw new NoProject(`${path} does not exist: ${advice}`, { cause })
  }
}

const field = (config: unknown, name: string): unknown =>
  typeof config === "object" && config !== null ? (config as Record<string, unknown>)[name] : undefined

function graphsOf(path: string, config: unknown): string[] {
  const graphs = field(config, "graphs")
  const names = typeof graphs === "object" && graphs !== null ? Object.keys(graphs) : []
  if (names.length === 0)
    throw new NoProject(`${path} defines no graph: add "graphs": {"chat": "./src/graph.ts:graph"}`)
  return names
}

/** A value that names no path is left to the other graphs' loader, which refuses it. */
function pythonGraphsOf(graphs: unknown): Record<string, string> {
  const specs = Object.entries(graphs as object).map(([id, value]) => [id, field(value, "path") ?? value] as const)
  return Object.fromEntries(
    specs.filter((each): each is [string, string] => typeof each[1] === "string" && languageOf(each[1]) === "python"),
  )
}

function parse(path: string, text: string): unknown {
  try {
    return parseJsonFile(text)
  } catch (cause) {
    throw new NoProject(`${path} is not valid JSON: ${(cause as Error).message}`, { cause })
  }
}

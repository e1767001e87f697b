/** Reads `langgraph.json`: what a project's graphs are and what they need. */
import { readFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { InvalidInput, type Problem } from "@superstep/toolkit/errors/errors"
import type { z } from "zod"
import type { WorkerProject } from "../workers/child.js"
import { fieldWarnings } from "./field-warnings.js"
import { type LanggraphJson, langgraphConfig } from "./langgraph-json.js"
import { resolveEnv } from "./project-env.js"

export interface GraphEntry {
  /** `path:export`, relative to the project's folder. */
  readonly path: string
  readonly description: string | undefined
}

export interface Project {
  /** Absolute paths. */
  readonly folder: string
  readonly configPath: string
  /** By graph id, in the file's order. */
  readonly graphs: Readonly<Record<string, GraphEntry>>
  /** The environment of the graphs' code. */
  readonly env: Readonly<Record<string, string>>
  readonly nodeVersion: string | undefined
  readonly dependencies: readonly string[]
  readonly http: NonNullable<LanggraphJson["http"]>
  readonly store: NonNullable<LanggraphJson["store"]>
  readonly checkpointer: NonNullable<LanggraphJson["checkpointer"]>
  readonly auth: NonNullable<LanggraphJson["auth"]>
  /** Source files of UI components, by agent. */
  readonly ui: Readonly<Record<string, string>>
  readonly uiConfig: NonNullable<LanggraphJson["ui_config"]>
  readonly webhooks: NonNullable<LanggraphJson["webhooks"]>
  /** What a person should know and nothing fails for, such as an unknown key. */
  readonly warnings: readonly string[]
}

/**
 * @param serverEnv  where variables are looked up that the project lists by name; see `nameableEnv`
 * @throws InvalidInput  when the file is missing, is not JSON or says something that cannot be; all problems at once
 */
export async function readProject(configPath: string, serverEnv: NodeJS.ProcessEnv): Promise<Project> {
  const path = resolve(configPath)
  const config = parseConfig(await readText(path), path)
  const folder = dirname(path)
  const env = await resolveEnv(config.env, folder, serverEnv)
  const graphs = Object.entries(config.graphs)
  return {
    folder,
    configPath: path,
    graphs: Object.fromEntries(graphs.map(([graphId, graph]) => [graphId, toEntry(graph)])),
    env: env.values,
    nodeVersion: config.node_version,
    dependencies: config.dependencies ?? [],
    http: config.http ?? {},
    store: config.store ?? {},
    checkpointer: config.checkpointer ?? {},
    auth: config.auth ?? {},
    ui: config.ui ?? {},
    uiConfig: config.ui_config ?? {},
    webhooks: config.webhooks ?? {},
    warnings: [...fieldWarnings(config), ...env.warnings],
  }
}

/**
 * Where a project's names are looked up. A unit's process has no variables for the graphs but those the platform set
 * for them; alone, a server has those of the person who started it.
 */
export const nameableEnv = (
  { revisionId, agentEnv }: { revisionId: string | undefined; agentEnv: Readonly<Record<string, string>> },
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv => (revisionId === undefined ? env : agentEnv)

/** What a worker pool loads of a project. */
export const toWorkerProject = ({ folder, graphs, env }: Project): WorkerProject => ({
  folder,
  env,
  graphs: Object.fromEntries(Object.entries(graphs).map(([graphId, { path }]) => [graphId, path])),
})

const toEntry = (graph: LanggraphJson["graphs"][string]): GraphEntry =>
  typeof graph === "string"
    ? { path: graph, description: undefined }
    : { path: graph.path, description: graph.description }

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8")
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause
    throw invalid([], `there is no file ${path}: name one with --config`)
  }
}

function parseConfig(text: string, path: string): LanggraphJson {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw invalid([], `${path} is not valid JSON: ${(error as Error).message}`)
  }
  const parsed = langgraphConfig.safeParse(json)
  if (parsed.success) return parsed.data
  throw new InvalidInput(parsed.error.issues.map(toProblem), "invalid_config")
}

const invalid = (path: readonly string[], message: string) =>
  new InvalidInput([{ path: ["langgraph.json", ...path], message, type: "value_error" }], "invalid_config")

const toProblem = ({ path, message }: z.core.$ZodIssue): Problem => ({
  path: ["langgraph.json", ...path.map((part) => (typeof part === "number" ? part : String(part)))],
  message,
  type: "value_error",
})

/** Reads `langgraph.json`. */

import { readFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { graphIdProblem, parseJsonFile } from "@superstep/protocol/worker/project-file"
import { InvalidInput, type Problem } from "@superstep/toolkit/errors/errors"
import { unstorablePath, unstorableText } from "@superstep/toolkit/text/storable"
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
  /** Problems that are not errors, such as an unknown key. */
  readonly warnings: readonly string[]
}

/**
 * @param serverEnv  where variables that the project lists by name are looked up; see `nameableEnv`
 * @param isDeployed  whether the platform gives the variables: then a missing `.env` file is as it should be
 * @throws InvalidInput  when the file is missing, is not JSON or is invalid; names all problems
 */
export async function readProject(
  configPath: string,
  serverEnv: NodeJS.ProcessEnv,
  { isDeployed = false }: { readonly isDeployed?: boolean } = {},
): Promise<Project> {
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
    warnings: [
      ...fieldWarnings(config),
      ...env.warnings,
      ...(env.missingFile === undefined || isDeployed
        ? []
        : [`env: no such file: ${env.missingFile}; the graphs start without it`]),
    ],
  }
}

/**
 * The environment in which a project's variable names are looked up. In a unit these are only the variables that the
 * platform set for the agent; a standalone server uses its own environment.
 */
export const nameableEnv = (
  { revisionId, agentEnv }: { revisionId: string | undefined; agentEnv: Readonly<Record<string, string>> },
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv => (revisionId === undefined ? env : agentEnv)

/** The part of a project that a worker pool loads. */
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
    throw invalid([], `no such file: ${path}; choose another with --config`)
  }
}

function parseConfig(text: string, path: string): LanggraphJson {
  let json: unknown
  try {
    json = parseJsonFile(text)
  } catch (error) {
    throw invalid([], `${path} is not valid JSON: ${(error as Error).message}`)
  }
  const unstorable = unstorablePath(json)
  if (unstorable) throw invalid(unstorable, unstorableText)
  // Before the record of graphs, which loses some names.
  const problem = graphIdProblem((json as { readonly graphs?: unknown } | null)?.graphs)
  if (problem) throw invalid(["graphs"], problem)
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

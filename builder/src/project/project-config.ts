/** The parts of `langgraph.json` that a build needs. Pure. The agent server reads the rest of the file itself. */

import { isPlatformSetting } from "@superstep/protocol/unit/platform-settings"
import { languageOf } from "@superstep/protocol/worker/language"
import { graphIdProblem, parseJsonFile } from "@superstep/protocol/worker/project-file"
import { checkForeign } from "@superstep/toolkit/text/check-foreign"
import { unstorablePath, unstorableText } from "@superstep/toolkit/text/storable"
import { z } from "zod"
import { BuildFailed } from "../faults/build-failed.js"

export interface ProjectConfig {
  /** By graph id: the file, relative to the folder of `langgraph.json`; undefined for a graph in a Python module that is named. */
  readonly graphs: Readonly<Record<string, string | undefined>>
  /** Whether a graph is written in JavaScript or TypeScript. */
  readonly hasJavascript: boolean
  /** Undefined when no graph is written in Python. */
  readonly python: PythonConfig | undefined
  readonly nodeMajor: number | undefined
  /** Variables that the file itself sets; empty when `env` names a file. */
  readonly env: Readonly<Record<string, string>>
  /** The file that `env` names instead, relative to the folder of `langgraph.json`. */
  readonly envFile: string | undefined
}

/** What a Python project asks of its installation. */
export interface PythonConfig {
  /** Such as `3.12`. */
  readonly version: string | undefined
  /** Folders of the tree (they begin with a dot), and requirements. */
  readonly dependencies: readonly string[]
  readonly installer: "auto" | "pip" | "uv"
  /** Relative to the folder of `langgraph.json`. */
  readonly pipConfigFile: string | undefined
  /** It names a workspace of uv. */
  readonly needsLock: boolean
  /** Where the workspace of uv is, relative to the folder of `langgraph.json`, and which of its packages is installed. */
  readonly uvRoot: string | undefined
  readonly uvPackage: string | undefined
}

const relativePath = z
  .string()
  .refine((path) => !path.startsWith("/") && !path.split("/").includes(".."), "a path below the folder of this file")

const pythonSchema = z.object({
  python_version: z
    .string()
    .regex(/^3\.\d+(\.\d+)?$/, 'a version such as "3.12"')
    .nullish(),
  dependencies: z.array(z.string().min(1)).max(200).nullish(),
  pip_installer: z.enum(["auto", "pip", "uv"]).nullish(),
  pip_config_file: relativePath.nullish(),
  source: z
    .object({
      kind: z.literal("uv"),
      root: z.string().nullish(),
      package: z
        .string()
        .regex(/^[\w.-]+$/)
        .nullish(),
    })
    .nullish(),
})

const configSchema = z.object({
  graphs: z
    .record(z.string(), z.union([z.string(), z.object({ path: z.string() }).transform(({ path }) => path)]))
    .refine((graphs) => Object.keys(graphs).length > 0, "name at least one graph"),
  node_version: z
    .union([z.string(), z.number().transform(String)])
    .refine((version) => /^\d+$/.test(version), 'a major version such as "20"')
    .transform(Number)
    .nullish(),
  env: z.union([z.string(), z.record(z.string(), z.coerce.string())]).nullish(),
})

/**
 * @param shownPath  the path for messages, such as `apps/agent/langgraph.json`
 * @throws BuildFailed  `config_invalid` with every problem at once
 * @see    https://docs.langchain.com/langgraph-platform/cli (the configuration file)
 */
export function parseProjectConfig(text: string, shownPath: string): ProjectConfig {
  const json = jsonOf(text, shownPath)
  const problem = graphIdProblem((json as { readonly graphs?: unknown } | null)?.graphs)
  if (problem) throw new BuildFailed("config_invalid", `${shownPath} cannot be used: ${problem}`)
  const { graphs, node_version: nodeMajor, env } = parsed(configSchema, json, shownPath)
  const paths = Object.entries(graphs).map(([id, path]) => [id, graphPath(id, path, shownPath)] as const)
  return {
    graphs: Object.fromEntries(paths.map(([id, { file }]) => [id, file])),
    hasJavascript: paths.some(([, { isPython }]) => !isPython),
    // Its fields have no effect without a graph in Python, whatever they say.
    python: paths.some(([, { isPython }]) => isPython) ? pythonOf(parsed(pythonSchema, json, shownPath)) : undefined,
    nodeMajor: nodeMajor ?? undefined,
    env: typeof env === "object" && env !== null ? env : {},
    envFile: typeof env === "string" ? env : undefined,
  }
}

function parsed<Schema extends z.ZodType>(schema: Schema, json: unknown, shownPath: string): z.output<Schema> {
  const result = checkForeign(schema, json)
  if (result.success) return result.data
  const problems = result.error.issues.map((issue) => `${issue.path.join(".") || "the file"}: ${issue.message}`)
  throw new BuildFailed("config_invalid", `${shownPath} cannot be used: ${problems.join("; ")}`)
}

function pythonOf(config: z.output<typeof pythonSchema>): PythonConfig {
  const { python_version, dependencies, pip_installer, pip_config_file, source } = config
  return {
    version: python_version ?? undefined,
    // A project of one folder need not name it.
    dependencies: dependencies ?? ["."],
    installer: source ? "uv" : (pip_installer ?? "auto"),
    pipConfigFile: pip_config_file ?? undefined,
    needsLock: Boolean(source),
    uvRoot: source?.root ?? undefined,
    uvPackage: source?.package ?? undefined,
  }
}

/**
 * Refuses settings that only the operator may set.
 * @param names      variables that the project sets
 * @param shownPath  the file that sets them
 * @throws BuildFailed  `config_invalid`
 */
export function refusePlatformSettings(names: readonly string[], shownPath: string): void {
  const refused = names.filter(isPlatformSetting)
  if (refused.length === 0) return
  const words = `${shownPath} sets ${refused.join(", ")} for the graphs, which only the operator of the platform may set`
  throw new BuildFailed("config_invalid", `${words}: remove it from env`)
}

function jsonOf(text: string, shownPath: string): unknown {
  let json: unknown
  try {
    json = parseJsonFile(text)
  } catch (cause) {
    throw new BuildFailed("config_invalid", `${shownPath} is not valid JSON: ${(cause as Error).message}`, { cause })
  }
  const path = unstorablePath(json)
  if (!path) return json
  throw new BuildFailed("config_invalid", `${shownPath} cannot be used: ${path.join(".")}: ${unstorableText}`)
}

interface GraphPath {
  readonly file: string | undefined
  readonly isPython: boolean
}

/** The file of `./src/agent.ts:graph`. A module path (`package.module:graph`) is Python's form. */
function graphPath(id: string, path: string, shownPath: string): GraphPath {
  const [, file, exported] = path.match(/^(.+):([^:/\\]+)$/) ?? []
  if (!file || !exported) {
    throw new BuildFailed("config_invalid", `${shownPath}: graph "${id}" is "${path}", expected "./file.ts:export"`)
  }
  const isPython = languageOf(path) === "python"
  return { file: isPython && !file.endsWith(".py") ? undefined : file, isPython }
}

/** What a build needs of `langgraph.json`. Pure. The agent server reads the rest of the file itself. */
import { z } from "zod"
import { BuildFailed } from "./failure.js"

export interface ProjectConfig {
  /** By graph id: the file, relative to the folder of `langgraph.json`. */
  readonly graphs: Readonly<Record<string, string>>
  readonly nodeMajor: number | undefined
  /** Variables that the file itself sets; an `env` that names a file gives none. */
  readonly env: Readonly<Record<string, string>>
}

const configSchema = z.object({
  graphs: z
    .record(z.string().min(1), z.union([z.string(), z.object({ path: z.string() }).transform(({ path }) => path)]))
    .refine((graphs) => Object.keys(graphs).length > 0, "name at least one graph"),
  node_version: z
    .union([z.string(), z.number().transform(String)])
    .refine((version) => /^\d+$/.test(version), 'a major version such as "20"')
    .transform(Number)
    .nullish(),
  env: z.union([z.string(), z.record(z.string(), z.coerce.string())]).nullish(),
})

/**
 * @param shownPath  how the person knows the file, such as `apps/agent/langgraph.json`
 * @throws BuildFailed  `config_invalid` with every problem at once; `python_unsupported`
 * @see    https://docs.langchain.com/langgraph-platform/cli (the configuration file)
 */
export function parseProjectConfig(text: string, shownPath: string): ProjectConfig {
  const parsed = configSchema.safeParse(jsonOf(text, shownPath))
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join(".") || "the file"}: ${issue.message}`)
    throw new BuildFailed("config_invalid", `${shownPath} cannot be used: ${problems.join("; ")}`)
  }
  const { graphs, node_version: nodeMajor, env } = parsed.data
  return {
    graphs: Object.fromEntries(Object.entries(graphs).map(([id, path]) => [id, graphFile(id, path, shownPath)])),
    nodeMajor: nodeMajor ?? undefined,
    env: typeof env === "object" && env !== null ? env : {},
  }
}

function jsonOf(text: string, shownPath: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""))
  } catch (cause) {
    throw new BuildFailed("config_invalid", `${shownPath} is not valid JSON: ${(cause as Error).message}`, { cause })
  }
}

/** The file of `./src/agent.ts:graph`. A module path (`package.module:graph`) is Python's form. */
function graphFile(id: string, path: string, shownPath: string): string {
  const [, file, exported] = path.match(/^(.+):([^:/\\]+)$/) ?? []
  if (!file || !exported) {
    throw new BuildFailed("config_invalid", `${shownPath}: graph "${id}" is "${path}", expected "./file.ts:export"`)
  }
  const isModule = !file.includes("/") && !/\.[cm]?[jt]sx?$/.test(file)
  if (file.endsWith(".py") || isModule) {
    throw new BuildFailed(
      "python_unsupported",
      `graph "${id}" is written in Python (${path}). This release runs TypeScript and JavaScript; Python comes later`,
    )
  }
  return file
}

/** Resolves the environment of a project: values, a `.env` file, or names of variables to copy. */
import { readFile, realpath } from "node:fs/promises"
import { resolve, sep } from "node:path"
import { parseEnv } from "node:util"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import type { LanggraphJson } from "./langgraph-json.js"

export interface ProjectEnv {
  readonly values: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
  /** The file that `env` names, when there is none. */
  readonly missingFile?: string
}

// Variables of the server and of its database library, which may contain secrets. A project never receives them.
const serverVariables = /^(SUPERSTEP_.*|DATABASE_URI|PG.*)$/

/**
 * @param folder     the folder of `langgraph.json`
 * @param serverEnv  where names are looked up; only names that the project lists are read, and never the server's own
 * @throws InvalidInput  when the `.env` file is outside the folder
 */
export async function resolveEnv(
  env: LanggraphJson["env"],
  folder: string,
  serverEnv: NodeJS.ProcessEnv,
): Promise<ProjectEnv> {
  if (env === undefined) return { values: {}, warnings: [] }
  if (typeof env === "string") return readEnvFile(env, folder)
  if (Array.isArray(env)) return copyNamed(env, serverEnv)
  return { values: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)])), warnings: [] }
}

// A .env file is usually not in the repository. A deployment starts without it and gets its secrets from the platform.
async function readEnvFile(path: string, folder: string): Promise<ProjectEnv> {
  try {
    const file = await realpath(resolve(folder, path))
    // The server may be able to read files that the project's author must not see.
    if (!file.startsWith((await realpath(folder)) + sep)) throw outside(path)
    const values = Object.entries(parseEnv(await readFile(file, "utf8"))).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    )
    return { values: Object.fromEntries(values), warnings: [] }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    return { values: {}, warnings: [], missingFile: path }
  }
}

function outside(path: string): InvalidInput {
  const message = `${path} is outside the folder of langgraph.json: move it there, or set the variables for the agent`
  return new InvalidInput([{ path: ["langgraph.json", "env"], message, type: "value_error" }], "invalid_config")
}

function copyNamed(names: readonly string[], serverEnv: NodeJS.ProcessEnv): ProjectEnv {
  const values: Record<string, string> = {}
  const warnings: string[] = []
  for (const name of names) {
    const value = serverEnv[name]
    if (serverVariables.test(name)) warnings.push(`env: ${name} belongs to the server and is not passed to the graphs`)
    else if (value === undefined) warnings.push(`env: the variable ${name} is not set`)
    else values[name] = value
  }
  return { values, warnings }
}

/** The environment that a project asks for: values, a `.env` file, or names to take over. */
import { readFile } from "node:fs/promises"
import { isAbsolute, join } from "node:path"
import { parseEnv } from "node:util"
import type { LanggraphJson } from "./langgraph-json.js"

export interface ProjectEnv {
  readonly values: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
}

/**
 * @param folder     that of `langgraph.json`
 * @param serverEnv  where names are looked up; only names that the project lists are read
 */
export async function resolveEnv(
  env: LanggraphJson["env"],
  folder: string,
  serverEnv: NodeJS.ProcessEnv,
): Promise<ProjectEnv> {
  if (env === undefined) return { values: {}, warnings: [] }
  if (typeof env === "string") return readEnvFile(env, folder)
  if (Array.isArray(env)) return takeOver(env, serverEnv)
  return { values: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)])), warnings: [] }
}

// A .env file is rarely in the repository, so a deployment goes without it and gets its secrets from the platform.
async function readEnvFile(path: string, folder: string): Promise<ProjectEnv> {
  try {
    const text = await readFile(isAbsolute(path) ? path : join(folder, path), "utf8")
    const values = Object.entries(parseEnv(text)).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    )
    return { values: Object.fromEntries(values), warnings: [] }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    return { values: {}, warnings: [`env: there is no file ${path}: the graphs start without it`] }
  }
}

function takeOver(names: readonly string[], serverEnv: NodeJS.ProcessEnv): ProjectEnv {
  const present = names.flatMap((name) => {
    const value = serverEnv[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  const missing = names.filter((name) => serverEnv[name] === undefined)
  return {
    values: Object.fromEntries(present),
    warnings: missing.map((name) => `env: the variable ${name} is not set`),
  }
}

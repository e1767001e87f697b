/** The environment in a project's langgraph.json, as secrets of its deployment. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseEnv } from "node:util"
import { isReserved } from "@superstep/control/secrets/secret"
import { KnownError } from "@superstep/toolkit/errors/errors"

export interface ProjectSecrets {
  readonly secrets: readonly { readonly name: string; readonly value: string }[]
  /** Names that the platform sets itself, and that were left out. */
  readonly reserved: readonly string[]
}

export class EnvFileMissing extends KnownError {
  readonly code = "env_file_missing"
}

/**
 * Reads `env` of langgraph.json, a mapping or a file, or the file that is given instead.
 * @param env      from langgraph.json; a list names variables of the caller's own environment
 * @param envFile  the file to use instead, relative to the caller's folder
 * @throws EnvFileMissing  when a named file does not exist
 */
export function readProjectSecrets(
  { folder, env, environment }: { folder: string; env: unknown; environment: Readonly<Record<string, string>> },
  envFile: string | undefined,
): ProjectSecrets {
  const values = envFile === undefined ? valuesOf(folder, env, environment) : readEnvFile(envFile)
  const given = Object.entries(values).filter(([, value]) => value !== "")
  return {
    secrets: given.filter(([name]) => !isReserved(name)).map(([name, value]) => ({ name, value })),
    reserved: given.map(([name]) => name).filter(isReserved),
  }
}

function valuesOf(folder: string, env: unknown, environment: Readonly<Record<string, string>>): Record<string, string> {
  if (typeof env === "string") return readEnvFile(join(folder, env))
  if (Array.isArray(env)) return Object.fromEntries(env.map((name: string) => [name, environment[name] ?? ""]))
  if (typeof env !== "object" || env === null) return {}
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]))
}

function readEnvFile(file: string): Record<string, string> {
  if (!existsSync(file))
    throw new EnvFileMissing(`${file} does not exist: create it, or give another file with --env-file`)
  return parseEnv(readFileSync(file, "utf8")) as Record<string, string>
}

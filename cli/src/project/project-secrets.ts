/** The environment that a project's langgraph.json names, as secrets of its deployment. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseEnv } from "node:util"
import { isReserved } from "@superstep/control/secrets/secret"
import { KnownError } from "@superstep/toolkit/errors/errors"

export interface ProjectSecrets {
  readonly secrets: readonly { readonly name: string; readonly value: string }[]
  /** Names that the platform sets itself, which were left out. */
  readonly reserved: readonly string[]
}

export class EnvFileMissing extends KnownError {
  readonly code = "env_file_missing"
}

/**
 * Reads `env` of langgraph.json, a mapping or a file, or the file that is named instead.
 * @param env      what langgraph.json says; a list names variables of the caller's own environment
 * @param envFile  the file that is named instead, from the caller's folder
 * @throws EnvFileMissing  when a file that is named is not there
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
  if (!existsSync(file)) throw new EnvFileMissing(`${file} is not there: make it, or name another with --env-file`)
  return parseEnv(readFileSync(file, "utf8")) as Record<string, string>
}

/**
 * Secret settings for a child process. They come in a file, since every process of the same user can read a process's
 * environment while it lives; the child deletes the file after reading it.
 */
import { readFileSync, rmSync } from "node:fs"
import { open, rm } from "node:fs/promises"
import { InvalidSettings, type Secret } from "./settings.js"

/** The environment variable with the file's path. */
export const settingsFileVariable = "SUPERSTEP_SETTINGS_FILE"

/**
 * Writes a new file, readable only by its owner.
 * @param owner  the file's owner; ours when undefined
 */
export async function writeSettingsFile(
  path: string,
  secrets: Readonly<Record<string, Secret>>,
  owner?: { readonly uid: number; readonly gid: number },
): Promise<void> {
  const texts = Object.entries(secrets).map(([name, secret]) => [name, secret.reveal()])
  await rm(path, { force: true })
  // Exclusive: in a folder of another user, a link in its place would make us write to its target.
  await using file = await open(path, "wx", 0o600)
  if (owner) await file.chown(owner.uid, owner.gid)
  await file.writeFile(JSON.stringify(Object.fromEntries(texts)))
}

/**
 * The environment merged with the file's content. Deletes the file: it serves one start. Without a file, the environment.
 * @throws InvalidSettings  when the named file is missing or cannot be read
 */
export function takeSettingsFile(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = env[settingsFileVariable]
  if (path === undefined || path === "") return env
  const secrets = readFile(path)
  rmSync(path)
  return { ...env, ...secrets }
}

function readFile(path: string): Record<string, string> {
  try {
    const secrets: unknown = JSON.parse(readFileSync(path, "utf8"))
    if (!isTexts(secrets)) throw new Error("it does not contain texts by name")
    return secrets
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : "it cannot be read"
    const remedy = "the parent process must write it before each start"
    throw new InvalidSettings(`cannot start: ${settingsFileVariable} is ${path}, but ${reason}: ${remedy}`, { cause })
  }
}

// Without zod, which takes longer to load than all else in the program that starts a step of a build.
const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((text) => typeof text === "string")

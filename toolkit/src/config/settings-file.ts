/**
 * Secret settings of a process that is started by another one. They come in a file, since a process's environment can be
 * read by everything that its user runs, as long as it lives; the file is gone once the process has read it.
 */
import { readFileSync, rmSync } from "node:fs"
import { open, rm } from "node:fs/promises"
import { z } from "zod"
import { InvalidSettings, type Secret } from "./settings.js"

/** Names the file, in the environment of the process that reads it. */
export const settingsFileVariable = "SUPERSTEP_SETTINGS_FILE"

/**
 * Writes the file anew, readable by its owner alone.
 * @param owner  whose the file is; ours when undefined
 */
export async function writeSettingsFile(
  path: string,
  secrets: Readonly<Record<string, Secret>>,
  owner?: { readonly uid: number; readonly gid: number },
): Promise<void> {
  const texts = Object.entries(secrets).map(([name, secret]) => [name, secret.reveal()])
  await rm(path, { force: true })
  // Exclusive: in a folder that is somebody else's, a link in its place would have us write where it leads.
  await using file = await open(path, "wx", 0o600)
  if (owner) await file.chown(owner.uid, owner.gid)
  await file.writeFile(JSON.stringify(Object.fromEntries(texts)))
}

/**
 * The environment with what the file holds, which is removed: it serves one start. Without a file, the environment.
 * @throws InvalidSettings  when the file that is named is not there or cannot be read
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
    return z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(path, "utf8")))
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : "it cannot be read"
    const remedy = "whoever starts this process writes it anew each time"
    throw new InvalidSettings(`cannot start: ${settingsFileVariable} is ${path}, but ${reason}: ${remedy}`, { cause })
  }
}

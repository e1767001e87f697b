/** Small JSON files by which processes tell each other who they are. */
import { randomUUID } from "node:crypto"
import { readFile, rename, rm, writeFile } from "node:fs/promises"

/** Writes so that a reader sees all of it or none. Only its owner may read it. */
export async function writeJson(file: string, value: unknown): Promise<void> {
  const partial = `${file}.${randomUUID()}.partial`
  try {
    await writeFile(partial, JSON.stringify(value), { mode: 0o600 })
    await rename(partial, file)
  } catch (error) {
    // A full disk makes an empty file, and each try would make one more.
    await rm(partial, { force: true })
    throw error
  }
}

/** @returns undefined when there is no such file */
export async function readJson<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

/** Small JSON files by which processes identify themselves to each other. */
import { readFile } from "node:fs/promises"
import { writeWhole } from "./whole-file.js"

/** Writes atomically: a reader sees all of it or none. Only its owner may read it. */
export const writeJson = (file: string, value: unknown): Promise<void> => writeWhole(file, JSON.stringify(value))

/** @returns undefined when there is no such file */
export async function readJson<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

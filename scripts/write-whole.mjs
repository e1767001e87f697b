/** Writes files of a clone that programs may read, and other builds write, at the same time. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

/** Writes atomically: a program that reads the file at this moment gets the old one or the new one, whoever else writes it. */
export function writeWhole(path, text) {
  const partial = `${path}.${process.pid}.partial`
  mkdirSync(dirname(path), { recursive: true })
  try {
    writeFileSync(partial, text)
    renameSync(partial, path)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
}

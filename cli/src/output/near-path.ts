/** A path as short as it can be pasted: relative when it is below the folder where the reader is. */
import { relative } from "node:path"

export function nearPath(path: string, from = process.cwd()): string {
  const near = relative(from, path)
  return near.startsWith("..") ? path : near || "."
}

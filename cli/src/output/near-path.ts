/** The shortest path that can be pasted: relative when it is below the reader's folder. */
import { relative } from "node:path"

export function nearPath(path: string, from = process.cwd()): string {
  const near = relative(from, path)
  return near.startsWith("..") ? path : near || "."
}

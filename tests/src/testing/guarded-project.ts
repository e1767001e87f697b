/** A copy of `tests/guarded`, or of its equal in Python, in a folder of its own, which a test may change. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { projectWith } from "./projects.js"

export interface GuardedProject {
  /** Path of its langgraph.json. */
  readonly config: string
  /** Writes files, by path. */
  write(files: Readonly<Record<string, string>>): void
  /** What a file says in the original. */
  original(path: string): string
}

/**
 * @param folder  below `tests`
 * @param change  fields of langgraph.json over those of the original; `files` by path
 */
export function makeGuarded(
  folder: string,
  change: object,
  files: Readonly<Record<string, string>> = {},
): GuardedProject {
  const source = fileURLToPath(new URL(`../../${folder}`, import.meta.url))
  const copy = projectWith({}, `tests/${folder}`)
  const config = join(copy, "langgraph.json")
  const write = (changed: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(changed)) writeFileSync(join(copy, path), text)
  }
  write({ ...files, "langgraph.json": JSON.stringify({ ...JSON.parse(readFileSync(config, "utf8")), ...change }) })
  return { config, write, original: (path) => readFileSync(join(source, path), "utf8") }
}

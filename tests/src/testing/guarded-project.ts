/** A copy of `tests/guarded` in a folder of its own, which a test may change. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

const source = fileURLToPath(new URL("../../guarded", import.meta.url))

export interface GuardedProject {
  /** Path of its langgraph.json. */
  readonly config: string
  /** Writes files, by path. */
  write(files: Readonly<Record<string, string>>): void
  /** What a file says in `tests/guarded`. */
  original(path: string): string
}

/** @param change  fields of langgraph.json over those of `tests/guarded`; `files` by path */
export function makeGuarded(change: object, files: Readonly<Record<string, string>> = {}): GuardedProject {
  const folder = temporaryFolder()
  cpSync(source, folder, { recursive: true })
  symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(folder, "node_modules"))
  const config = join(folder, "langgraph.json")
  const write = (changed: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(changed)) writeFileSync(join(folder, path), text)
  }
  write({ ...files, "langgraph.json": JSON.stringify({ ...JSON.parse(readFileSync(config, "utf8")), ...change }) })
  return { config, write, original: (path) => readFileSync(join(source, path), "utf8") }
}

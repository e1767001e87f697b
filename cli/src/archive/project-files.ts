/**
 * Selects the files of a folder for an archive: all but those that git or Docker ignore, generated ones, and `.env`, whose
 * values are sent as secrets. The same rules as the official CLI's (control-plane §2.2).
 */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import ignore, { type Ignore } from "ignore"

const always = [
  ".git",
  ".venv",
  "venv",
  "__pycache__",
  "node_modules",
  ".tox",
  ".mypy_cache",
  ".superstep",
  ".langgraph_api",
  ".env",
  ".env.*",
  "!.env.example",
]
const ignoreFiles = [".gitignore", ".dockerignore"]

export interface ProjectFiles {
  /** Relative to the folder, with slashes, sorted. */
  readonly paths: readonly string[]
  readonly bytes: number
  /** Links are neither followed nor sent: their targets may be anywhere. */
  readonly links: readonly string[]
}

interface Rules {
  /** Relative to the root, ending with a slash; empty for the root. */
  readonly below: string
  readonly rules: Ignore
}

/** Reads the folder; files that vanish meanwhile are left out. */
export function findProjectFiles(root: string): ProjectFiles {
  const found = { paths: [] as string[], bytes: 0, links: [] as string[] }
  visit(root, "", [{ below: "", rules: ignore().add(always) }], found)
  return found
}

function visit(
  root: string,
  below: string,
  outer: readonly Rules[],
  found: { paths: string[]; bytes: number; links: string[] },
): void {
  const entries = readdirSync(join(root, below), { withFileTypes: true })
  const own = entries.filter(({ name }) => ignoreFiles.includes(name)).map(({ name }) => readRules(root, below, name))
  const rules = [...outer, ...own]
  for (const entry of entries.sort((one, two) => (one.name < two.name ? -1 : 1))) {
    const path = `${below}${entry.name}`
    const isFolder = entry.isDirectory()
    if (rules.some((one) => one.rules.ignores(`${path}${isFolder ? "/" : ""}`.slice(one.below.length)))) continue
    if (isFolder) visit(root, `${path}/`, rules, found)
    else if (entry.isSymbolicLink()) found.links.push(path)
    else if (entry.isFile()) {
      found.paths.push(path)
      found.bytes += statSync(join(root, path), { throwIfNoEntry: false })?.size ?? 0
    }
  }
}

const readRules = (root: string, below: string, name: string): Rules => ({
  below,
  rules: ignore().add(readFileSync(join(root, below, name), "utf8")),
})

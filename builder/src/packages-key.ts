/** Computes a key from everything that determines the result of an install, if that is known before it runs. */
import { createHash } from "node:crypto"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { parseJsonFile } from "@superstep/protocol/worker/project-file"
import type { BuildStep } from "./project/build-step.js"
import { lockFileNames, maxLockFileBytes, textInTree } from "./project/project-facts.js"
import { venvName } from "./python/plan-python.js"

// Raise it when the format of kept packages changes.
const formVersion = 1

const deciding = new Set<string>([
  ...lockFileNames,
  ...["package.json", ".npmrc", ".yarnrc", "pnpm-workspace.yaml", ".pnpmfile.cjs", "bunfig.toml", "binding.gyp"],
])
// `.prisma`: the install of Prisma's client generates it from the schema in the project.
const decidingEnds = [".patch", ".prisma"]
// Scripts of the project itself may read and write anything in its tree; those of packages mostly know only their own folder.
const lifecycle = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"]

/**
 * @param platform  compiled packages depend on it
 * @returns  undefined when an install may read or write more than its manifests say
 */
export async function packagesKey(tree: string, step: BuildStep, platform: string): Promise<string | undefined> {
  if (!step.isRepeatable) return undefined
  const hash = createHash("sha256").update(JSON.stringify([formVersion, step.argv, step.folder, platform]))
  for (const path of (await decidingFiles(tree, "")).toSorted()) {
    const text = await textInTree(tree, path, maxLockFileBytes)
    if (text === undefined || !isSelfContained(path, text)) return undefined
    hash.update(JSON.stringify([path, text]))
  }
  return hash.digest("hex").slice(0, 40)
}

/** Whether a manifest determines its part of the install without other files. Pure. */
export function isSelfContained(path: string, text: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1)
  if (name === "binding.gyp" || name === ".yarnrc" || name === ".pnpmfile.cjs") return false
  // A `file:` dependency is copied from the tree, and its files are not part of the key.
  if (name !== "package.json") return !/\bfile:/.test(text)
  try {
    const { scripts } = parseJsonFile(text) as { scripts?: Record<string, unknown> }
    return !lifecycle.some((script) => scripts?.[script] !== undefined)
  } catch {
    // The install itself reports an invalid manifest better.
    return false
  }
}

/** Links are not followed. */
async function decidingFiles(tree: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(tree, folder), { withFileTypes: true })
  const found = entries.map(async (entry): Promise<string[]> => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory())
      return ["node_modules", ".git", venvName].includes(entry.name) ? [] : decidingFiles(tree, path)
    return entry.isFile() && (deciding.has(entry.name) || decidingEnds.some((end) => entry.name.endsWith(end)))
      ? [path]
      : []
  })
  return (await Promise.all(found)).flat()
}

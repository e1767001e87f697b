/** Reads from a fetched tree what the installation of a Python project depends on. Never follows a path out of the tree. */
import { dirname, join, normalize } from "node:path"
import { BuildFailed } from "../faults/build-failed.js"
import type { PythonConfig } from "../project/project-config.js"
import { insideTree } from "../project/project-facts.js"

/** A dependency of the project: a folder of the tree, or a requirement for the installer. */
export type PythonDependency =
  | {
      readonly kind: "folder"
      /** Relative to the folder of `langgraph.json`; begins with a dot. */
      readonly path: string
      /** Such as `[test,docs]`, or empty. */
      readonly extras: string
      /** It has a `pyproject.toml` or `setup.py`. */
      readonly isPackage: boolean
      readonly hasRequirements: boolean
    }
  | { readonly kind: "requirement"; readonly text: string }

export interface PythonFacts {
  readonly dependencies: readonly PythonDependency[]
  /** Where `uv.lock` is, relative to the root of the tree; undefined without one. */
  readonly lockFolder: string | undefined
  /** Whether the folder of `langgraph.json` is a package itself. */
  readonly isPackage: boolean
}

/**
 * @param configPath  of `langgraph.json`, relative to `root`
 * @throws BuildFailed  `config_invalid`
 */
export async function readPythonFacts(root: string, configPath: string, config: PythonConfig): Promise<PythonFacts> {
  const folder = dirname(configPath)
  const has = async (path: string) => (await insideTree(root, path)) !== undefined
  const lockFolder = await lockFolderOf(folder, config, has)
  if (config.needsLock && lockFolder === undefined)
    throw new BuildFailed("config_invalid", `${configPath}: "source" names a workspace of uv, and there is no uv.lock`)
  const dependencies: PythonDependency[] = []
  for (const text of config.dependencies) dependencies.push(await dependencyOf(text, configPath, has))
  return { dependencies, lockFolder, isPackage: await has(join(folder, "pyproject.toml")) }
}

async function dependencyOf(
  text: string,
  configPath: string,
  has: (path: string) => Promise<boolean>,
): Promise<PythonDependency> {
  if (!text.startsWith(".")) return { kind: "requirement", text: requirement(text, configPath) }
  const [, path = text, extras = ""] = /^([^[]*)(\[[\w,. -]*\])?$/.exec(text) ?? []
  const folder = join(dirname(configPath), path)
  if (normalize(folder).startsWith("..")) throw refused(configPath, text, "is outside of the repository")
  const isPackage = (await has(join(folder, "pyproject.toml"))) || (await has(join(folder, "setup.py")))
  const hasRequirements = await has(join(folder, "requirements.txt"))
  if (!isPackage && !hasRequirements && normalize(path) !== "." && normalize(path) !== "./")
    throw refused(configPath, text, "has no pyproject.toml, setup.py or requirements.txt")
  return { kind: "folder", path, extras, isPackage, hasRequirements }
}

/** The innermost folder with a lock of uv, from that of `langgraph.json` up to the root. */
async function lockFolderOf(
  folder: string,
  { uvRoot, installer }: PythonConfig,
  has: (path: string) => Promise<boolean>,
): Promise<string | undefined> {
  if (installer === "pip") return undefined
  const parts = normalize(join(folder, uvRoot ?? "."))
    .split("/")
    .filter((part) => part !== "." && part !== "")
  for (let length = parts.length; length >= 0; length--) {
    const candidate = parts.slice(0, length).join("/")
    if (await has(join(candidate, "uv.lock"))) return candidate
  }
  return undefined
}

/** An option in its place would change the installer's own settings, such as its index. */
function requirement(text: string, configPath: string): string {
  if (/^\s*-|[\n\r\0]/.test(text)) throw refused(configPath, text, "is an option and not a package")
  return text
}

const refused = (configPath: string, text: string, why: string): BuildFailed =>
  new BuildFailed("config_invalid", `${configPath}: the dependency ${JSON.stringify(text)} ${why}`)

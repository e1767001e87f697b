/** Reads from a fetched tree what its build plan depends on. Never follows a path out of the tree. */
import { realpath, stat } from "node:fs/promises"
import { dirname, join, relative, sep } from "node:path"
import { parseEnv } from "node:util"
import { parseJsonFile } from "@superstep/protocol/worker/project-file"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { readPlainFile, UnusableFile } from "@superstep/toolkit/files/read-plain-file"
import { BuildFailed } from "../faults/build-failed.js"
import { type ProjectConfig, parseProjectConfig, refusePlatformSettings } from "./project-config.js"

/** The parts of a `package.json` that decide how its folder is installed and built. */
export interface PackageFacts {
  /** `pnpm@9.1.0`, from `packageManager` or `devEngines.packageManager`. */
  readonly packageManager: string | undefined
  readonly enginesNode: string | undefined
  readonly hasBuildScript: boolean
  /** What it says below `superstep`, unchecked: the plan of each step reads its own part (`plan.ts`). */
  readonly superstep: Readonly<Record<string, unknown>>
  readonly hasWorkspaces: boolean
}

export interface FolderFacts {
  /** Relative to the root; empty for the root itself. */
  readonly path: string
  readonly lockFiles: readonly LockFile[]
  readonly package: PackageFacts | undefined
}

export interface ProjectFacts {
  readonly config: ProjectConfig
  /** From the root down to the folder of `langgraph.json`. */
  readonly folders: readonly [FolderFacts, ...FolderFacts[]]
}

export const lockFileNames = ["yarn.lock", "pnpm-lock.yaml", "package-lock.json", "bun.lockb", "bun.lock"] as const
// Lock files of large monorepos have some ten megabytes; manifests, which people write, are far smaller.
export const maxLockFileBytes = 64 * 1024 * 1024
const maxManifestBytes = 1024 * 1024
/** `yarn.lock (berry)` is the file of Yarn 2 and later. */
export type LockFile = (typeof lockFileNames)[number] | "yarn.lock (berry)"

/**
 * @param configPath  of `langgraph.json`, relative to `root`
 * @throws BuildFailed  `config_missing`, `config_invalid`, `graph_missing`
 */
export async function readProjectFacts(root: string, configPath: string): Promise<ProjectFacts> {
  const config = await readProjectConfig(root, configPath)
  await checkEnvironment(root, configPath, config)
  for (const [id, file] of Object.entries(config.graphs)) {
    // A module is found when it is loaded.
    if (file === undefined || (await insideTree(root, join(dirname(configPath), file)))) continue
    throw new BuildFailed("graph_missing", `graph "${id}" is in ${file}, which is not in this commit`)
  }
  const [top, ...below] = foldersDownTo(dirname(configPath))
  const rest = await Promise.all(below.map((path) => readFolder(root, path)))
  return { config, folders: [await readFolder(root, top), ...rest] }
}

/**
 * Reads `langgraph.json` of a tree, as fetched or as changed by the project's commands.
 * @throws BuildFailed  `config_missing`, `config_invalid`
 */
export async function readProjectConfig(root: string, configPath: string): Promise<ProjectConfig> {
  const text = await readPlainFile(root, configPath, maxManifestBytes).catch((error: unknown) => {
    if (!(error instanceof UnusableFile)) throw error
    const words = `${configPath} cannot be used (${error.message}): check langgraph_config_path`
    throw new BuildFailed("config_missing", words)
  })
  if (text !== undefined) return parseProjectConfig(text, configPath)
  throw new BuildFailed("config_missing", `there is no ${configPath} in this commit: check langgraph_config_path`)
}

/**
 * Checks what a project sets for its graphs, in `langgraph.json` or in the file that it names.
 * @throws BuildFailed  `config_invalid`
 */
export async function checkEnvironment(
  root: string,
  configPath: string,
  { env, envFile }: Pick<ProjectConfig, "env" | "envFile">,
): Promise<void> {
  refusePlatformSettings(Object.keys(env), configPath)
  if (envFile === undefined) return
  const path = join(dirname(configPath), envFile)
  const text = await textInTree(root, path, maxManifestBytes)
  if (text !== undefined) refusePlatformSettings(Object.keys(parseEnv(text)), path)
}

/** The content of a file of the tree; undefined when there is no usable one (`readPlainFile`). */
export const textInTree = (root: string, path: string, maxBytes: number): Promise<string | undefined> =>
  readPlainFile(root, path, maxBytes).catch((error: unknown) => {
    if (!(error instanceof UnusableFile)) throw error
    return undefined
  })

/**
 * The real path of a file of the tree.
 * @returns  undefined when there is none, or when the path or a symbolic link leads out of the tree
 */
export async function insideTree(root: string, path: string): Promise<string | undefined> {
  const top = await realpath(root)
  const target = await realpath(join(root, path)).catch(ifCode([...missing, "ELOOP"]))
  if (!target?.startsWith(top + sep)) return undefined
  return (await stat(target)).isFile() ? target : undefined
}

/** `apps/agent` gives `""`, `apps`, `apps/agent`. */
function foldersDownTo(path: string): [string, ...string[]] {
  const parts = relative(".", path)
    .split(sep)
    .filter((part) => part !== "" && part !== ".")
  return ["", ...parts.map((_, index) => parts.slice(0, index + 1).join("/"))]
}

async function readFolder(root: string, path: string): Promise<FolderFacts> {
  const lockFiles: LockFile[] = []
  for (const name of lockFileNames) {
    const text = await textInTree(root, join(path, name), maxLockFileBytes)
    if (text === undefined) continue
    const isBerry = name === "yarn.lock" && /^__metadata:/m.test(text)
    lockFiles.push(isBerry ? "yarn.lock (berry)" : name)
  }
  const manifest = await textInTree(root, join(path, "package.json"), maxManifestBytes)
  return { path, lockFiles, package: manifest === undefined ? undefined : packageFacts(manifest, path) }
}

interface PackageJson {
  readonly packageManager?: unknown
  readonly devEngines?: { readonly packageManager?: unknown }
  readonly engines?: { readonly node?: unknown }
  readonly scripts?: { readonly build?: unknown }
  readonly workspaces?: unknown
  readonly superstep?: unknown
}

function packageFacts(text: string, path: string): PackageFacts {
  let manifest: PackageJson
  try {
    manifest = parseJsonFile(text) as PackageJson
  } catch (cause) {
    const shown = join(path, "package.json")
    throw new BuildFailed("config_invalid", `${shown} is not valid JSON: ${(cause as Error).message}`, { cause })
  }
  if (typeof manifest !== "object" || manifest === null) {
    throw new BuildFailed("config_invalid", `${join(path, "package.json")} is not a JSON object`)
  }
  return {
    packageManager: textOf(manifest.packageManager) ?? devEngineOf(manifest.devEngines?.packageManager),
    enginesNode: textOf(manifest.engines?.node),
    hasBuildScript: textOf(manifest.scripts?.build) !== undefined,
    hasWorkspaces: manifest.workspaces !== undefined,
    superstep: { ...(manifest.superstep as object | null | undefined) },
  }
}

/** Of several engines, any may be used: the first is the one that the authors prefer. */
function devEngineOf(wanted: unknown): string | undefined {
  const first: unknown = Array.isArray(wanted) ? wanted[0] : wanted
  const { name, version } = (first ?? {}) as { name?: unknown; version?: unknown }
  const tool = textOf(name)
  return tool && [tool, textOf(version)].filter((part) => part !== undefined).join("@")
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

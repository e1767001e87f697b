/** Chooses the package manager of a folder and its command line. Pure. */
import type { FolderFacts, LockFile } from "./project/project-facts.js"

export interface InstallTool {
  readonly command: readonly [string, ...string[]]
  readonly install: readonly string[]
  /** The lock file determines the result, and `node_modules` is all that the install writes. */
  readonly isRepeatable: boolean
}

interface Choice {
  readonly tool: "npm" | "yarn" | "pnpm" | "bun"
  /** The package that `npx` fetches when the tool is not on the path. */
  readonly fetched: string
  readonly install: readonly string[]
}

const quiet = ["--no-audit", "--no-fund"]

// A lock file means exactly these versions. The order is that of LangGraph's own images (control-plane §3.2).
// pnpm 11 does not run on Node 20, so pnpm 10 is fetched (toolchain F).
const byLockFile: readonly (readonly [LockFile, Choice])[] = [
  ["yarn.lock", { tool: "yarn", fetched: "yarn@1", install: ["install", "--frozen-lockfile"] }],
  ["yarn.lock (berry)", { tool: "yarn", fetched: "@yarnpkg/cli-dist@4", install: ["install", "--immutable"] }],
  ["pnpm-lock.yaml", { tool: "pnpm", fetched: "pnpm@10", install: ["install", "--frozen-lockfile"] }],
  ["package-lock.json", { tool: "npm", fetched: "npm", install: ["ci", ...quiet] }],
  ["bun.lockb", { tool: "bun", fetched: "bun@1", install: ["install", "--frozen-lockfile"] }],
  ["bun.lock", { tool: "bun", fetched: "bun@1", install: ["install", "--frozen-lockfile"] }],
]

const npm: Choice = { tool: "npm", fetched: "npm", install: ["install", ...quiet] }

const byName: ReadonlyMap<string, Choice> = new Map([
  ["npm", npm],
  ["yarn", { tool: "yarn", fetched: "yarn@1", install: ["install"] }],
  ["pnpm", { tool: "pnpm", fetched: "pnpm@10", install: ["install"] }],
  ["bun", { tool: "bun", fetched: "bun@1", install: ["install"] }],
])

/**
 * Chooses by the first lock file, else by `packageManager`, else npm.
 * @param onPath  tools that are installed; the others are run by `npx`, in the version that the project names
 */
export function installTool(folder: FolderFacts, onPath: ReadonlySet<string>): InstallTool {
  const named = parsePackageManager(folder.package?.packageManager)
  const [lockFile, locked] = byLockFile.find(([name]) => folder.lockFiles.includes(name)) ?? []
  const choice = locked ?? (named ? byName.get(named.tool) : undefined) ?? npm
  // Later Yarns may put packages into other folders.
  const isRepeatable = lockFile !== undefined && lockFile !== "yarn.lock (berry)"
  const { install } = choice
  if (choice.tool === "npm") return { command: ["npm"], install, isRepeatable }
  const version = named?.tool === choice.tool ? named.version : undefined
  if (onPath.has(choice.tool) && version === undefined) return { command: [choice.tool], install, isRepeatable }
  const fetched = version === undefined ? choice.fetched : packageFor(choice.tool, version)
  return { command: ["npx", "--yes", fetched], install, isRepeatable }
}

/**
 * Parses `pnpm@9.1.0+sha512.…`, without the hash, which only Corepack checks. A version range of several parts is not
 * passed on: the installed tool, or our own choice, is used instead.
 */
function parsePackageManager(text: string | undefined): { tool: string; version: string | undefined } | undefined {
  const [, tool, rest] = text?.match(/^(npm|yarn|pnpm|bun)(?:@(.*))?$/) ?? []
  const version = rest?.replace(/\+.*$/, "")
  return tool ? { tool, version: version && /^[\w.^~-]+$/.test(version) ? version : undefined } : undefined
}

/** Yarn 2 and later are published under another name. */
const packageFor = (tool: string, version: string): string =>
  tool === "yarn" && !/^[\^~]?[01](\.|$)/.test(version) ? `@yarnpkg/cli-dist@${version}` : `${tool}@${version}`

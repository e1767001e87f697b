/** Decides which Node builds and runs a project. Pure. */
import { BuildFailed } from "../../errors.js"
import { compare, type NodeRange, parseRange, versionOf } from "./node-range.js"
import type { ProjectFacts } from "./project-facts.js"

export interface NodeProgram {
  readonly path: string
  /** Such as `v24.21.0`. */
  readonly version: string
}

export interface NodeChoice {
  readonly node: NodeProgram
  /** A sentence for the build log, if the choice needs one. */
  readonly note: string | undefined
}

/** The Node that a project requests: `node_version` of langgraph.json, else the innermost `engines`. */
export interface NodeRequest {
  readonly range: NodeRange
  /** The request with its place, for messages: `"engines" of package.json requests Node >=22`. */
  readonly words: string
}

// The oldest version that Superstep itself runs on.
const oldest = [20, 19, 0] as const

/** @throws BuildFailed  `node_version_unsupported` for a version that Superstep does not run on */
export function requestedNode({ config, folders }: ProjectFacts): NodeRequest | undefined {
  if (config.nodeMajor !== undefined) {
    const words = `"node_version" requests Node ${config.nodeMajor}`
    if (config.nodeMajor < oldest[0]) {
      throw new BuildFailed("node_version_unsupported", `${words}, but the oldest supported version is ${oldest[0]}`)
    }
    return { range: parseRange(String(config.nodeMajor)) as NodeRange, words }
  }
  const engines = folders.map((folder) => folder.package?.enginesNode).findLast((text) => text !== undefined)
  const range = engines === undefined ? undefined : parseRange(engines)
  return range && { range, words: `"engines" of package.json requests Node ${engines}` }
}

/**
 * Chooses our own Node if it fits, else the newest that fits, else our own or the newest if it is newer than the request.
 * @param found  the other Nodes of this machine that the project's users may start
 * @throws BuildFailed  `node_version_unsupported`
 * @see    control-plane §6.8, "Build", 3
 */
export function chooseNode(requested: NodeRequest, own: NodeProgram, found: readonly NodeProgram[]): NodeChoice {
  if (requested.range.includes(own.version)) return { node: own, note: undefined }
  const usable = found.filter(({ version }) => compare(versionOf(version) ?? [0, 0, 0], oldest) >= 0)
  const fitting = newest(usable.filter(({ version }) => requested.range.includes(version)))
  if (fitting) return { node: fitting, note: `${requested.words}: ${fitting.version} is used` }
  const best = newest([own, ...usable]) ?? own
  const bestMajor = versionOf(best.version)?.[0] ?? 0
  if (bestMajor > requested.range.lowestMajor) {
    return { node: best, note: `${requested.words}, which is not installed on this machine: ${best.version} is used` }
  }
  const there = [own, ...usable].map(({ version }) => version).join(", ")
  throw new BuildFailed("node_version_unsupported", `${requested.words}, and this machine has ${there}`)
}

const newest = (nodes: readonly NodeProgram[]): NodeProgram | undefined =>
  nodes.toSorted((a, b) => compare(versionOf(b.version) ?? [0, 0, 0], versionOf(a.version) ?? [0, 0, 0]))[0]

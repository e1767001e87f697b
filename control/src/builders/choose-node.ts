/** Decides which Node builds and runs a project. Pure. */
import { BuildFailed } from "./failure.js"
import { compare, type NodeRange, parseRange, versionOf } from "./node-range.js"
import type { ProjectFacts } from "./project-facts.js"

export interface NodeProgram {
  readonly path: string
  /** Such as `v24.21.0`. */
  readonly version: string
}

export interface NodeChoice {
  readonly node: NodeProgram
  /** A sentence for the build log, where the choice needs one. */
  readonly note: string | undefined
}

/** What a project asks for; `node_version` of langgraph.json wins over `engines`, the innermost `engines` over others. */
export interface NodeWish {
  readonly range: NodeRange
  /** As it was written, with its place: `"engines" of package.json asks for Node >=22`. */
  readonly words: string
}

// The oldest that Superstep itself runs on.
const oldest = [20, 19, 0] as const

/** @throws BuildFailed  `node_version_unsupported` for a version that Superstep does not run on */
export function wishedNode({ config, folders }: ProjectFacts): NodeWish | undefined {
  if (config.nodeMajor !== undefined) {
    const words = `"node_version" asks for Node ${config.nodeMajor}`
    if (config.nodeMajor < oldest[0]) {
      throw new BuildFailed("node_version_unsupported", `${words}: the oldest that is supported is ${oldest[0]}`)
    }
    return { range: parseRange(String(config.nodeMajor)) as NodeRange, words }
  }
  const engines = folders.map((folder) => folder.package?.enginesNode).findLast((text) => text !== undefined)
  const range = engines === undefined ? undefined : parseRange(engines)
  return range && { range, words: `"engines" of package.json asks for Node ${engines}` }
}

/**
 * Ours if it fits, else the newest that fits, else ours or the newest if it is newer than what was asked for.
 * @param found  the other Nodes of this machine that the project's users may start
 * @throws BuildFailed  `node_version_unsupported`
 * @see    control-plane §6.8, "Build", 3
 */
export function chooseNode(wish: NodeWish, own: NodeProgram, found: readonly NodeProgram[]): NodeChoice {
  if (wish.range.includes(own.version)) return { node: own, note: undefined }
  const usable = found.filter(({ version }) => compare(versionOf(version) ?? [0, 0, 0], oldest) >= 0)
  const fitting = newest(usable.filter(({ version }) => wish.range.includes(version)))
  if (fitting) return { node: fitting, note: `${wish.words}: ${fitting.version} is used` }
  const best = newest([own, ...usable]) ?? own
  const bestMajor = versionOf(best.version)?.[0] ?? 0
  if (bestMajor > wish.range.lowestMajor) {
    return { node: best, note: `${wish.words}, which is not on this machine: ${best.version} is used` }
  }
  const there = [own, ...usable].map(({ version }) => version).join(", ")
  throw new BuildFailed("node_version_unsupported", `${wish.words}, and this machine has ${there}`)
}

const newest = (nodes: readonly NodeProgram[]): NodeProgram | undefined =>
  nodes.toSorted((a, b) => compare(versionOf(b.version) ?? [0, 0, 0], versionOf(a.version) ?? [0, 0, 0]))[0]

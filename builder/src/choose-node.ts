/** Decides which Node builds and runs a project. Pure. */
import { BuildFailed } from "./faults/build-failed.js"
import { compare, type NodeRange, parseRange, versionOf } from "./node-range.js"
import type { PackageFacts, ProjectFacts } from "./project/project-facts.js"

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

/** What a request is read from. */
export interface RequestFacts {
  readonly config: Pick<ProjectFacts["config"], "nodeMajor">
  /** From the root down to the folder of `langgraph.json`. */
  readonly folders: readonly { readonly package: Pick<PackageFacts, "enginesNode"> | undefined }[]
}

/** @throws BuildFailed  `node_version_unsupported` for a version that Superstep does not run on */
export function requestedNode({ config, folders }: RequestFacts): NodeRequest | undefined {
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

// The newest major version that Superstep is tested with. A newer one is used only where a project requests it, or the platform runs on it.
export const recommendedMajor = 24

/**
 * Chooses the newest major version that the project allows; of one major version our own Node, else the newest. Without one that fits, it
 * is a newer one than the request.
 * @param requested  undefined: the project allows every version
 * @param found      the other Nodes of this machine that the project's users may start
 * @throws BuildFailed  `node_version_unsupported`
 * @see    docs/decisions/0078-agents-run-on-the-newest-node.md
 */
export function chooseNode(
  requested: NodeRequest | undefined,
  own: NodeProgram,
  found: readonly NodeProgram[],
): NodeChoice {
  const usable = [own, ...found.filter(({ version }) => compare(versionOf(version) ?? [0, 0, 0], oldest) >= 0)]
  const fitting = usable.filter(({ version }) => requested?.range.includes(version) ?? true)
  const limit = Math.max(recommendedMajor, majorOf(own))
  const best =
    newest(
      fitting.filter((node) => majorOf(node) <= limit),
      own,
    ) ?? newest(fitting, own)
  if (best) return { node: best, note: noteFor(best, requested, own) }
  return newerThan(requested as NodeRequest, own, usable)
}

function newerThan({ range, words }: NodeRequest, own: NodeProgram, usable: readonly NodeProgram[]): NodeChoice {
  const best = newest(usable, own)
  if (best && majorOf(best) > range.lowestMajor)
    return { node: best, note: `${words}, which is not installed on this machine: ${best.version} is used` }
  const there = usable.map(({ version }) => version).join(", ")
  throw new BuildFailed("node_version_unsupported", `${words}, and this machine has ${there}`)
}

function noteFor(node: NodeProgram, requested: NodeRequest | undefined, own: NodeProgram): string | undefined {
  const isOlder = majorOf(node) < recommendedMajor
  const slower = isOlder ? `. Node ${recommendedMajor} streams more tokens a second` : ""
  if (requested && (node !== own || isOlder)) return `${requested.words}: ${node.version} is used${slower}`
  return node !== own || isOlder ? `Node ${node.version} is used${slower}` : undefined
}

/** Whether a Node is of the same major version as another one, or of a newer one. Pure. */
export const isAtLeast = (node: Pick<NodeProgram, "version">, other: Pick<NodeProgram, "version">): boolean =>
  majorOf(node) >= majorOf(other)

const majorOf = ({ version }: Pick<NodeProgram, "version">): number => versionOf(version)?.[0] ?? 0

const newest = (nodes: readonly NodeProgram[], own: NodeProgram): NodeProgram | undefined =>
  nodes.toSorted(
    (a, b) =>
      majorOf(b) - majorOf(a) ||
      Number(b === own) - Number(a === own) ||
      compare(versionOf(b.version) ?? [0, 0, 0], versionOf(a.version) ?? [0, 0, 0]),
  )[0]

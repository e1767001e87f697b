/** The platform that compiled packages depend on: an artifact runs only where it is the same, or as near to it as this machine has. Pure. */
import type { NodeProgram } from "./choose-node.js"
import { compare, versionOf } from "./node-range.js"
import type { PythonProgram } from "./python/pythons.js"

/**
 * @param python  of a project with graphs in Python
 * @param runsAt  where the project will be when it runs, if not where it is published: an environment of Python has that path in it
 */
export function platformOf(
  { version }: Pick<NodeProgram, "version">,
  python?: Pick<PythonProgram, "version"> | undefined,
  runsAt?: string | undefined,
): string {
  const forPython = python ? ` python ${python.version}${runsAt === undefined ? "" : ` at ${runsAt}`}` : ""
  return `node ${version} ${process.platform} ${process.arch}${forPython}`
}

/** @returns  undefined for text that `platformOf` did not write */
export const nodeVersionOf = (platform: string): string | undefined => /^node (v[\d.]+) /.exec(platform)?.[1]

/** @returns  the Node of this version, else the newest of the same major version, if there is one */
export function nearestNode(version: string, nodes: readonly NodeProgram[]): NodeProgram | undefined {
  const same = nodes.find((node) => node.version === version)
  const major = versionOf(version)?.[0]
  const ofMajor = nodes.flatMap((node) => {
    const found = versionOf(node.version)
    return found && found[0] === major ? [{ node, found }] : []
  })
  return same ?? ofMajor.toSorted((a, b) => compare(b.found, a.found))[0]?.node
}

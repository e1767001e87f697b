/** Which Node runs an artefact: compiled packages in it are for one major version. */
import type { NodeProgram } from "../builders/choose-node.js"
import { compare, versionOf } from "../builders/node-range.js"
import { platformOfArtifact } from "./artifact-queries.js"
import type { PipelineContext } from "./context.js"
import { nodeVersionOf } from "./platform.js"
import type { CarriedDeployment } from "./queries.js"

/** @returns the path of the Node that the artefact was built for, else of the nearest that this machine still has */
export async function nodeOfArtifact(
  { db, nodes, isolation, log }: PipelineContext,
  artifactId: string,
  { uid_offset }: Pick<CarriedDeployment, "uid_offset">,
): Promise<string> {
  const built = nodeVersionOf((await platformOfArtifact(db, artifactId)) ?? "")
  if (built === undefined || built === nodes.own.version) return nodes.own.path
  const near = nearest(built, [nodes.own, ...(await nodes.others(isolation.user(uid_offset)))])
  if (near) return near.path
  log.warn({ artifact_id: artifactId, node: built }, "the Node that this was built for is gone: it runs on ours")
  return nodes.own.path
}

/** The same version, else the newest of the same major. Pure. */
function nearest(version: string, nodes: readonly NodeProgram[]): NodeProgram | undefined {
  const same = nodes.find((node) => node.version === version)
  const major = versionOf(version)?.[0]
  const ofMajor = nodes.flatMap((node) => {
    const found = versionOf(node.version)
    return found && found[0] === major ? [{ node, found }] : []
  })
  return same ?? ofMajor.toSorted((a, b) => compare(b.found, a.found))[0]?.node
}

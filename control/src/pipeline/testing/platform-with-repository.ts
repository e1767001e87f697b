/** The setup that tests of a file share: a running platform and a repository to deploy. */
import assert from "node:assert/strict"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { type BareRepository, bareRepository } from "../../sources/testing/bare-repository.js"
import { deploymentOf, type Json, type Platform, smallProject, testPlatform } from "./platform.js"

type DeploymentChange = Parameters<typeof deploymentOf>[1]
interface Deployed {
  readonly deploymentId: string
  readonly revisionId: string
  readonly revision: Json
}

export interface PlatformWithRepository extends Platform {
  /** A repository whose branch `main` contains the small project. */
  readonly repository: BareRepository
  /** Creates a deployment of the repository, and waits until its revision has ended, in whatever state. */
  deployRepository(change?: DeploymentChange): Promise<Deployed>
  /** The same, but fails unless the revision is DEPLOYED. */
  serveRepository(change?: DeploymentChange): Promise<Deployed>
}

/**
 * @param env    settings of the control plane, which is started
 * @param given  as for `testPlatform`
 */
export async function platformWithRepository(
  env: Record<string, string> = {},
  given: Parameters<typeof testPlatform>[0] = {},
): Promise<PlatformWithRepository> {
  const platform = await testPlatform(given)
  const repository = bareRepository(temporaryFolder())
  repository.commit(smallProject)
  const deployRepository = async (change?: DeploymentChange) => {
    const ids = await platform.deploy(deploymentOf(repository.url, change))
    return { ...ids, revision: await platform.untilEnded(ids.deploymentId, ids.revisionId) }
  }
  const serveRepository = async (change?: DeploymentChange) => {
    const deployed = await deployRepository(change)
    assert.equal(deployed.revision.status, "DEPLOYED", JSON.stringify(deployed.revision))
    return deployed
  }
  await platform.start(env)
  return Object.assign(platform, { repository, deployRepository, serveRepository })
}

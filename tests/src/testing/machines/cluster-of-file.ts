/** The cluster of a test file: all its installations are in it. */
import { AsyncResource } from "node:async_hooks"
import { after } from "node:test"
import { noCluster, type TestCluster, testCluster } from "@superstep/machines/kubernetes/testing/place"

// Registers a hook of the file that loads this module, also from within a test. With SUPERSTEP_TEST_MACHINE each file has a process of its own.
const afterFile = AsyncResource.bind(after)

let started: Promise<TestCluster> | undefined

/** @param shared  folders of this computer that pods see; also those that are added later */
export function clusterOfFile(shared: readonly string[]): Promise<TestCluster> {
  started ??= start(shared)
  return started
}

async function start(shared: readonly string[]): Promise<TestCluster> {
  if (noCluster) throw new Error(`no cluster: ${noCluster}`)
  if (!process.env.SUPERSTEP_TEST_HOSTS) throw new Error("no names of Services: .ci/kubernetes prepares them")
  const cluster = await testCluster({ shared })
  afterFile(() => cluster.stop())
  return cluster
}

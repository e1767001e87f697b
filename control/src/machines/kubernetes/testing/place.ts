/** An installation in a namespace of a real cluster, whose images are in a real registry. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { v7 as newId } from "uuid"
import { appendLayers } from "../../images/image.js"
import { layoutIn } from "../../images/layout.js"
import { registryAt } from "../../images/registry/client.js"
import { pushImage } from "../../images/registry/push.js"
import { parseReference } from "../../images/registry/reference.js"
import { hasRegistry, realRegistry } from "../../images/testing/real-registry.js"
import { machineFolders } from "../../process/folders.js"
import { projectFiles } from "../../process/testing/place.js"
import { registryImages } from "../artifact-images.js"
import type { Cluster } from "../cluster.js"
import { nameOf, type Pod, pathsIn } from "../objects.js"
import { ownedObjects } from "../owned-objects.js"
import { kubernetesUnits } from "../units.js"
import { resolveServices } from "./cluster-dns.js"
import { noKubernetes, realCluster } from "./real-cluster.js"
import { grantRights } from "./rights.js"
import { whyNoContainers } from "./test-container.js"
import { testNode } from "./test-node.js"

const why = () => noKubernetes || whyNoContainers() || (hasRegistry() ? false : "needs docker-registry")

/** Why tests with a cluster cannot run here. */
export const noCluster: string | false = why()

const control = fileURLToPath(new URL("..", import.meta.resolve("@superstep/control/main")))

/** The program of fake units with what it needs, at the same places relative to each other. */
const fakeRuntime = [
  "control/programs",
  ...["control", "toolkit", "protocol", "server", "workers/js"].map((it) => `${it}/dist/.tsbuildinfo`),
  "node_modules/.package-lock.json",
]

const runtime = {
  parts: async () => fakeRuntime.map((path) => ({ from: join(control, "..", path), to: `superstep/runtime/${path}` })),
  entry: "control/programs/testing-unit.js",
}

export type TestCluster = Awaited<ReturnType<typeof testCluster>>

/** One cluster with one node and a registry, for all tests of a file. */
export async function testCluster() {
  const cluster = await realCluster()
  const node = await testNode(cluster.admin, cluster)
  const registry = await realRegistry()
  const endNames = resolveServices(cluster.admin)
  const layout = layoutIn(temporaryFolder())
  const host = `127.0.0.1:${registry.port}`
  await pushBase(layout, registry.origin)
  return {
    ...cluster,
    node,
    registry,
    layout,
    host,
    stop: async () => {
      endNames()
      await node.stop()
      await cluster.stop()
      await registry[Symbol.asyncDispose]()
    },
  }
}

/** A base image without files: the test node adds the programs of this computer. */
async function pushBase(layout: ReturnType<typeof layoutIn>, origin: string): Promise<void> {
  const folder = temporaryFolder()
  writeFileSync(join(folder, "base"), "")
  const layer = await layout.addLayer([{ from: folder, to: "base" }])
  const empty = {
    config: { architecture: "amd64", os: "linux", rootfs: { type: "layers", diff_ids: [] } },
    layers: [],
  } as const
  await pushImage({
    registry: registryAt({ origin }),
    repository: "base",
    version: "1",
    image: appendLayers(empty, [layer], { Env: ["PATH=/usr/local/bin:/usr/bin:/bin"] }),
    read: layout.read,
  })
}

export async function kubernetesPlace(tested: TestCluster, user: Cluster = tested.machine) {
  const folders = machineFolders(temporaryFolder())
  const artifactId = "an-artefact"
  for (const folder of [folders.units, join(folders.artifacts, artifactId)]) mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(projectFiles))
    writeFileSync(join(folders.artifacts, artifactId, name), content)
  const homeId = newId()
  const namespace = `agents-${homeId.slice(-12)}`
  await tested.admin.json("/api/v1/namespaces", { method: "POST", body: { metadata: { name: namespace } } })
  await grantRights(tested.admin, namespace)
  const objects = ownedObjects(user, homeId)
  const registry = registryAt({ origin: tested.registry.origin })
  const images = registryImages({
    registry,
    target: { host: tested.host, repository: "agents" },
    baseRegistry: registry,
    base: parseReference(`${tested.host}/base:1`),
    runtime,
    layout: tested.layout,
    folderOf: (id) => join(folders.artifacts, id),
    log: silent,
  })
  const units = () =>
    kubernetesUnits({
      cluster: user,
      objects,
      homeId,
      namespace,
      platformNamespace: namespace,
      pullSecret: undefined,
      folders,
      imageOf: images,
      environment: { SUPERSTEP_MASTER_KEY: "key", DATABASE_URI: "postgres://platform" },
    })
  const podOf = async (unitId: string) => objects.find<Pod>(pathsIn(namespace).pods, nameOf(unitId))
  const pidOf = async (unitId: string) => tested.node.pidOf((await podOf(unitId))?.metadata.uid ?? "")
  return { folders, homeId, namespace, artifactId, objects, units, podOf, pidOf }
}

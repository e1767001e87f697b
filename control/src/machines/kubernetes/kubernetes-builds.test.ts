import { after, before } from "node:test"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { v7 as newId } from "uuid"
import { limits } from "../process/builds/testing/build.js"
import { buildsConformance } from "../testing/conformance.js"
import { openKubernetesMachine } from "./machine.js"
import { newNamespace, noCluster, type TestCluster, testCluster } from "./testing/place.js"

let tested: TestCluster

before(async () => {
  if (!noCluster) tested = await testCluster()
})
after(async () => {
  if (!noCluster) await tested.stop()
})

const program = (name: string) => fileURLToPath(import.meta.resolve(`@superstep/control/machines/testing/${name}`))

/** Two openings of one data folder. */
async function machinePlace() {
  const homeId = newId()
  const options = {
    home: temporaryFolder(),
    homeId,
    programs: {
      server: program("fake-unit"),
      verify: program("fake-verify"),
      verifyPython: program("fake-verify"),
      analyse: program("fake-analyse"),
    },
    edge: { host: "127.0.0.1", port: 0, logLevel: "error", trustedProxies: "", drainMs: 0, hangMs: 30_000 } as const,
    apiPort: 0,
    controlFolders: [],
    masterKeyFile: undefined,
    buildLimits: limits,
    nodeDirs: [],
    environment: { PATH: process.env.PATH },
    log: silent,
    crashPoint: () => undefined,
    kubernetes: {
      kubeconfig: tested.kubeconfig,
      namespace: await newNamespace(tested),
      registry: `${tested.host}/agents-${homeId}`,
      registryLogin: undefined,
      pullSecret: undefined,
      baseImage: tested.baseImage,
      edgeToken: undefined,
      edgeUrl: undefined,
      edgePods: "",
      edgeAdminPort: 0,
      wakePort: 0,
      podName: undefined,
      controlPods: "",
    },
  }
  const machines = [await openKubernetesMachine(options), await openKubernetesMachine(options)] as const
  let opened = 0
  return { open: () => machines[opened++ % 2 === 0 ? 0 : 1] }
}

buildsConformance("a machine with pods", machinePlace, noCluster)

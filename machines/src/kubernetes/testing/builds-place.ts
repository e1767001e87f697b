/** The machine `kubernetes` of one installation in a namespace of a real cluster, as control planes of different computers open it. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { limits } from "@superstep/builder/testing/build"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { v7 as newId } from "uuid"
import { noKeyFiles } from "../../testing/no-key-files.js"
import { openKubernetesMachine } from "../machine.js"
import { newNamespace, type TestCluster } from "./place.js"

const program = (name: string) => fileURLToPath(import.meta.resolve(`@superstep/machines/testing/${name}`))

export const registryPassword = "password-of-the-registry"

export interface BuildsPlaceOptions {
  readonly memoryMb?: number
  /** The program that loads graphs in Python; it is needed for such projects only. */
  readonly verifyPython?: string
  readonly environment?: NodeJS.ProcessEnv
}

export async function buildsPlace(tested: TestCluster, options: BuildsPlaceOptions = {}) {
  const homeId = newId()
  const namespace = await newNamespace(tested, { "pod-security.kubernetes.io/enforce": "restricted" })
  const registryLogin = join(temporaryFolder(), "config.json")
  const auth = Buffer.from(`user:${registryPassword}`).toString("base64")
  writeFileSync(registryLogin, JSON.stringify({ auths: { [tested.host]: { auth } } }))
  const repository = `agents-${homeId}`
  /** @param home  the data folder of a control plane; by default one of its own */
  const open = (home = temporaryFolder()) =>
    openKubernetesMachine({
      home,
      homeId,
      programs: {
        server: program("fake-unit"),
        verify: fileURLToPath(import.meta.resolve("@superstep/builder/testing/fake-verify")),
        verifyPython:
          options.verifyPython ?? fileURLToPath(import.meta.resolve("@superstep/builder/testing/fake-verify")),
        analyse: program("fake-analyse"),
      },
      edge: { host: "127.0.0.1", port: 0, logLevel: "error", trustedProxies: "", drainMs: 0, hangMs: 30_000 },
      apiPort: 0,
      controlFolders: [],
      keyFiles: noKeyFiles,
      buildLimits: { ...limits, memoryMb: options.memoryMb ?? limits.memoryMb },
      nodeDirs: [],
      fetchesNode: false,
      environment: {
        ...options.environment,
        PATH: process.env.PATH,
        SUPERSTEP_MASTER_KEY: "master-key-of-the-platform",
      },
      log: silent,
      crashPoint: () => undefined,
      kubernetes: {
        kubeconfig: tested.kubeconfig,
        namespace,
        registry: `${tested.host}/${repository}`,
        registryLogin,
        pullSecret: undefined,
        baseImage: tested.baseImage,
        buildEgress: [],
        edgeToken: undefined,
        edgeUrl: undefined,
        edgePods: "",
        edgeAdminPort: 0,
        wakePort: 0,
        podName: undefined,
        controlPods: "",
      },
    })
  return { open, homeId, namespace, repository }
}

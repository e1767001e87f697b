/** The machine `kubernetes` of one installation in a namespace of a real cluster, as control planes of different computers open it. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { limits } from "@superstep/builder/testing/build"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { v7 as newId } from "uuid"
import { fakePrograms, machineOptions } from "../../testing/opened-machine.js"
import { openKubernetesMachine } from "../machine.js"
import { newNamespace, type TestCluster } from "./place.js"

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
  const { memoryMb = limits.memoryMb, verifyPython = fakePrograms.verifyPython } = options
  /** @param home  the data folder of a control plane; by default one of its own */
  const open = (home = temporaryFolder()) =>
    openKubernetesMachine({
      ...machineOptions({
        home,
        homeId,
        programs: { ...fakePrograms, verifyPython },
        buildLimits: { ...limits, memoryMb },
        environment: {
          ...options.environment,
          PATH: process.env.PATH,
          SUPERSTEP_MASTER_KEY: "master-key-of-the-platform",
        },
      }),
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

/** A release of the chart in a namespace of a test cluster. */
import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { TestCluster } from "@superstep/machines/kubernetes/testing/place"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

const chart = fileURLToPath(new URL("../../../../deploy/helm/superstep", import.meta.url))
const release = "superstep"
const limit = ["--wait", "--timeout", "10m"]

export interface ReleasePlace {
  readonly cluster: TestCluster
  readonly namespace: string
}

/** Resolves when all its pods are ready. */
export async function installRelease(place: ReleasePlace, values: object): Promise<void> {
  const file = join(temporaryFolder(), "values.json")
  writeFileSync(file, JSON.stringify(values))
  await helm(place, "install", release, chart, "--values", file, ...limit)
}

export const uninstallRelease = (place: ReleasePlace): Promise<void> => helm(place, "uninstall", release, ...limit)

async function helm({ cluster, namespace }: ReleasePlace, ...args: readonly string[]): Promise<void> {
  const program = process.env.SUPERSTEP_TEST_HELM
  if (!program) throw new Error("there is no helm: .ci/chart builds it")
  const where = ["--namespace", namespace, "--kubeconfig", cluster.adminKubeconfig]
  await promisify(execFile)(program, [...args, ...where])
}

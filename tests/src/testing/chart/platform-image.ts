/** The platform's image in the registry of a test cluster, as `npm run image` makes it of this release. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import type { TestCluster } from "@superstep/machines/kubernetes/testing/place"
import { release } from "superstep/release"
import { copyForPacking } from "superstep/testing/copy-for-packing"

let pushed: Promise<string> | undefined

/** Once for all installations of a test file. @returns  the image's repository; its tag is the release */
export function platformImageOfFile(cluster: TestCluster): Promise<string> {
  pushed ??= push(cluster)
  return pushed
}

async function push({ host, baseImage }: TestCluster): Promise<string> {
  const repository = `${host}/superstep`
  const copy = copyForPacking()
  const args = ["--push", `${repository}:${release()}`, "--base", baseImage]
  await promisify(execFile)(process.execPath, [join(copy, "scripts/releases/image.mjs"), ...args], { cwd: copy })
  return repository
}

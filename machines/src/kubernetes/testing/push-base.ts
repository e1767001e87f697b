/** A base image without programs in a registry of this computer: the test node adds those of this computer. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { appendLayers, type BaseImage } from "@superstep/oci/image"
import { layoutIn } from "@superstep/oci/layout"
import { registryAt } from "@superstep/oci/registry/client"
import { goArchitecture } from "@superstep/oci/registry/pull"
import { pushImage } from "@superstep/oci/registry/push"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

/** @returns  its name */
export async function pushBase(origin: string): Promise<string> {
  const layout = layoutIn(temporaryFolder())
  const folder = temporaryFolder()
  writeFileSync(join(folder, "base"), "")
  const layer = await layout.addLayer([{ from: folder, to: "base" }])
  const empty: BaseImage = {
    config: { architecture: goArchitecture(), os: "linux", rootfs: { type: "layers", diff_ids: [] } },
    layers: [],
  }
  await pushImage({
    registry: registryAt({ origin }),
    repository: "base",
    version: "1",
    image: appendLayers(empty, [layer], { Env: ["PATH=/usr/local/bin:/usr/bin:/bin"] }),
    read: layout.read,
  })
  return `${new URL(origin).host}/base:1`
}

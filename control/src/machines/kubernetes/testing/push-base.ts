/** A base image without programs in a registry of this computer: the test node adds those of this computer. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { appendLayers, type BaseImage } from "../../images/image.js"
import { layoutIn } from "../../images/layout.js"
import { registryAt } from "../../images/registry/client.js"
import { goArchitecture } from "../../images/registry/pull.js"
import { pushImage } from "../../images/registry/push.js"

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

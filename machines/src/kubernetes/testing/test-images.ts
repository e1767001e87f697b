/** Images as folders of this computer. */
import { spawnSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { layoutIn } from "@superstep/oci/layout"
import { registryAt } from "@superstep/oci/registry/client"
import { findImage, readBlob } from "@superstep/oci/registry/pull"
import { originOf, parseReference } from "@superstep/oci/registry/reference"

export type UnpackedImage = Awaited<ReturnType<typeof unpack>>

/** @returns  pulls an image once: containers share its files, which they cannot change */
export function imagesIn(folder: string): (image: string) => Promise<UnpackedImage> {
  const images = new Map<string, Promise<UnpackedImage>>()
  return (image) => {
    const files = images.get(image) ?? unpack(join(folder, `${images.size}`, "root"), image)
    images.set(image, files)
    return files
  }
}

/** Pulls an image, and puts the files of its layers into a folder. */
async function unpack(root: string, image: string) {
  const reference = parseReference(image)
  const registry = registryAt({ origin: originOf(reference) })
  const { base } = await findImage(registry, reference)
  mkdirSync(root, { recursive: true })
  const layout = layoutIn(join(root, "..", "layers"))
  for (const { blob } of base.layers) {
    const pieces: Uint8Array[] = []
    for await (const piece of readBlob(registry, reference.repository, blob.digest, 0)) pieces.push(piece)
    await layout.addBytes(Buffer.concat(pieces), blob)
    const { status, stderr } = spawnSync("tar", ["-x", "-f", layout.pathOf(blob.digest), "-C", root])
    if (status !== 0) throw new Error(`tar: ${stderr}`)
  }
  return { root, config: base.config.config ?? {} }
}

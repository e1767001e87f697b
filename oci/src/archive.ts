/** An image as one archive, which `docker load` and `podman load` read: the OCI layout, and `manifest.json` for engines that read only that. */
import { stat } from "node:fs/promises"
import type { Digest, Image } from "./image.js"
import { type Layout, layoutDocuments } from "./layout.js"
import { archiveEnd, headerOf, paddingAfter } from "./tar-entry.js"

/**
 * @param layout   contains the layers
 * @param leaveOut digests of layers that the engine has, in this image's order from the first on
 */
export async function* imageArchive(
  { image, layout, reference }: { readonly image: Image; readonly layout: Layout; readonly reference: string },
  leaveOut: ReadonlySet<Digest> = new Set(),
): AsyncGenerator<Uint8Array> {
  const blobPath = (digest: Digest) => `blobs/${digest.replace(":", "/")}`
  const { layers, configDescriptor, manifestDescriptor } = image
  const listed = { Config: blobPath(configDescriptor.digest), RepoTags: [reference] }
  const documents = {
    ...layoutDocuments(image, reference),
    "manifest.json": JSON.stringify([{ ...listed, Layers: layers.map(({ blob }) => blobPath(blob.digest)) }]),
    [blobPath(configDescriptor.digest)]: image.config,
    [blobPath(manifestDescriptor.digest)]: image.manifest,
  }
  for (const path of ["blobs", "blobs/sha256"]) yield headerOf({ kind: "folder", path })
  for (const [path, content] of Object.entries(documents)) {
    const bytes = Buffer.from(content)
    yield headerOf({ kind: "file", path, size: bytes.length, isExecutable: false })
    yield bytes
    yield paddingAfter(bytes.length)
  }
  const sent = new Set(leaveOut)
  for (const { digest } of layers.map(({ blob }) => blob)) {
    if (sent.has(digest)) continue
    sent.add(digest)
    const { size } = await stat(layout.pathOf(digest))
    yield headerOf({ kind: "file", path: blobPath(digest), size, isExecutable: false })
    yield* layout.read(digest)
    yield paddingAfter(size)
  }
  yield archiveEnd
}

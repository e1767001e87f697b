/**
 * An OCI layout: a folder in which each blob is a file named by its digest. A blob appears by rename, so what is there is whole. Layers
 * are written straight into it.
 */
import { createHash, randomUUID } from "node:crypto"
import { createReadStream, createWriteStream } from "node:fs"
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { writeWhole } from "@superstep/toolkit/files/whole-file"
import { type Descriptor, type Digest, type Image, type Layer, mediaTypes } from "./image.js"
import { archiveEnd, headerOf, paddingAfter } from "./tar-entry.js"
import { entriesOf, type Part, UnusableTree } from "./tree-entries.js"

export interface Layout {
  readonly folder: string
  /** Writes the layer of these folders. */
  addLayer(parts: readonly Part[]): Promise<Layer>
  /** Stores a document of an image. */
  addBytes(bytes: Uint8Array, descriptor: Pick<Descriptor, "digest">): Promise<void>
  /** Stores a layer that another place has. @throws DamagedBlob */
  addBlob(bytes: AsyncIterable<Uint8Array>, descriptor: Descriptor): Promise<void>
  /** @returns  whether the whole blob is here */
  has(descriptor: Descriptor): Promise<boolean>
  /** @param from  the first byte; from there to the end */
  read(digest: Digest, from?: number): AsyncIterable<Uint8Array>
  pathOf(digest: Digest): string
  /** Removes all blobs but these, and what killed processes left unfinished. Nothing else may use the folder meanwhile. */
  keepOnly(blobs: readonly Pick<Descriptor, "digest">[]): Promise<void>
  /** Makes it the layout of this image under a name, for other tools. */
  name(image: Image, reference: string): Promise<void>
}

/** What came has another digest than it should. */
export class DamagedBlob extends KnownError {
  readonly code = "damaged_blob"
}

// A file up to this size is read at once: most of a project's packages are small files.
const smallBytes = 1024 * 1024

export function layoutIn(folder: string): Layout {
  const pathOf = (digest: Digest) => join(folder, "blobs", ...digest.split(":"))

  const addLayer: Layout["addLayer"] = async (parts) => {
    const partial = join(folder, `${randomUUID()}.partial`)
    await mkdir(folder, { recursive: true })
    try {
      const { digest, size } = await writeArchive(partial, parts)
      await mkdir(dirname(pathOf(digest)), { recursive: true })
      await rename(partial, pathOf(digest))
      return { blob: { mediaType: mediaTypes.layer, digest, size }, diffId: digest }
    } finally {
      await rm(partial, { force: true })
    }
  }
  const addBytes: Layout["addBytes"] = async (bytes, { digest }) => {
    await mkdir(dirname(pathOf(digest)), { recursive: true })
    const partial = join(folder, `${randomUUID()}.partial`)
    await writeFile(partial, bytes)
    await rename(partial, pathOf(digest))
  }
  const addBlob: Layout["addBlob"] = async (bytes, { digest }) => {
    await mkdir(dirname(pathOf(digest)), { recursive: true })
    const partial = join(folder, `${randomUUID()}.partial`)
    const hash = createHash("sha256")
    try {
      await pipeline(
        bytes,
        async function* (pieces) {
          for await (const piece of pieces) {
            hash.update(piece)
            yield piece
          }
        },
        createWriteStream(partial, { mode: 0o600 }),
      )
      if (`sha256:${hash.digest("hex")}` !== digest)
        throw new DamagedBlob(`${digest} was received with another content: try again`)
      await rename(partial, pathOf(digest))
    } finally {
      await rm(partial, { force: true })
    }
  }
  const keepOnly: Layout["keepOnly"] = async (blobs) => {
    const kept = new Set(blobs.map(({ digest }) => pathOf(digest)))
    const pathsIn = async (parent: string) =>
      (await readdir(parent).catch(ifCode(missing, []))).map((name) => join(parent, name))
    const unfinished = (await pathsIn(folder)).filter((path) => path.endsWith(".partial"))
    const others = (await pathsIn(join(folder, "blobs", "sha256"))).filter((path) => !kept.has(path))
    for (const path of [...unfinished, ...others]) await removeTree(path)
  }
  const name: Layout["name"] = async (image, reference) => {
    await addBytes(image.config, image.configDescriptor)
    await addBytes(image.manifest, image.manifestDescriptor)
    for (const [file, content] of Object.entries(layoutDocuments(image, reference))) {
      await writeWhole(join(folder, file), content)
    }
  }
  return {
    folder,
    addLayer,
    addBytes,
    addBlob,
    has: async ({ digest, size }) => (await stat(pathOf(digest)).catch(ifCode(missing)))?.size === size,
    read: (digest, from = 0) => createReadStream(pathOf(digest), { start: from }),
    pathOf,
    keepOnly,
    name,
  }
}

/** The two files at the top of a layout. Pure. */
export const layoutDocuments = ({ manifestDescriptor }: Image, reference: string): Record<string, string> => ({
  "oci-layout": JSON.stringify({ imageLayoutVersion: "1.0.0" }),
  "index.json": JSON.stringify({
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: [
      {
        ...manifestDescriptor,
        annotations: { "io.containerd.image.name": reference, "org.opencontainers.image.ref.name": tagOf(reference) },
      },
    ],
  }),
})

const tagOf = (reference: string): string => /:([^:/@]+)$/.exec(reference)?.[1] ?? "latest"

async function writeArchive(path: string, parts: readonly Part[]): Promise<{ digest: Digest; size: number }> {
  const hash = createHash("sha256")
  let size = 0
  const file = await open(path, "wx", 0o600)
  const add = async (bytes: Uint8Array) => {
    if (bytes.length === 0) return
    hash.update(bytes)
    size += bytes.length
    await file.writeFile(bytes)
  }
  try {
    for await (const entry of entriesOf(parts)) {
      await add(headerOf(entry))
      if (entry.kind !== "file") continue
      await addContent(entry, add)
      await add(paddingAfter(entry.size))
    }
    await add(archiveEnd)
  } finally {
    await file.close()
  }
  return { digest: `sha256:${hash.digest("hex")}`, size }
}

/** @throws UnusableTree  the file has changed since its header was written */
async function addContent(
  { source, size }: { readonly source: string; readonly size: number },
  add: (bytes: Uint8Array) => Promise<void>,
): Promise<void> {
  let read = 0
  const contents = size <= smallBytes ? [await readFile(source)] : createReadStream(source)
  for await (const bytes of contents) {
    read += bytes.length
    if (read > size) break
    await add(bytes as Uint8Array)
  }
  if (read !== size) throw new UnusableTree(`${source} was changed while it was read: build again`)
}

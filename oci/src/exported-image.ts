/** Reads an image from the archive that an engine exports (`docker save`), as the base of others. */
import { createHash, randomUUID } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdir, open, readFile, realpath, rename } from "node:fs/promises"
import { dirname, join, sep } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { extract } from "tar"
import { type BaseImage, type Descriptor, type ImageConfig, type Layer, mediaTypes } from "./image.js"
import type { Layout } from "./layout.js"

/** An archive is not what an engine exports. */
export class UnusableArchive extends KnownError {
  readonly code = "unusable_archive"
}

interface Listed {
  readonly Config: string
  readonly Layers: readonly string[]
}

/**
 * Stores the layers in the layout.
 * @throws UnusableArchive
 */
export async function readExportedImage(archive: AsyncIterable<Uint8Array>, layout: Layout): Promise<BaseImage> {
  const folder = join(layout.folder, `${randomUUID()}.partial`)
  await mkdir(folder, { recursive: true })
  try {
    await pipeline(Readable.from(archive), extract({ cwd: folder }))
    const [listed] = await jsonIn<readonly Listed[]>(folder, "manifest.json")
    if (!listed) throw new UnusableArchive("the archive names no image: export one image")
    const config = await jsonIn<ImageConfig>(folder, listed.Config)
    const files = await Promise.all(listed.Layers.map((path) => pathIn(folder, path)))
    const layers: Layer[] = []
    // Equal layers are one file of the archive, or links to it.
    const taken = new Map<string, Descriptor>()
    for (const [at, file] of files.entries()) {
      const diffId = config.rootfs.diff_ids[at]
      if (diffId === undefined) throw new UnusableArchive("the image has more layers than its configuration names")
      const blob = taken.get(file) ?? (await takeLayer(file, layout))
      taken.set(file, blob)
      layers.push({ diffId, blob })
    }
    return { config, layers }
  } finally {
    await removeTree(folder)
  }
}

async function takeLayer(file: string, layout: Layout): Promise<Descriptor> {
  const hash = createHash("sha256")
  let size = 0
  for await (const bytes of createReadStream(file)) {
    hash.update(bytes as Buffer)
    size += (bytes as Buffer).length
  }
  const blob = { mediaType: await mediaTypeOf(file), digest: `sha256:${hash.digest("hex")}`, size }
  await mkdir(dirname(layout.pathOf(blob.digest)), { recursive: true })
  if (!(await layout.has(blob))) await rename(file, layout.pathOf(blob.digest))
  return blob
}

/** Engines export layers as archives, or as they pulled them. */
async function mediaTypeOf(file: string): Promise<string> {
  await using handle = await open(file)
  const { buffer } = await handle.read({ buffer: Buffer.alloc(4), position: 0 })
  const start = buffer.toString("hex")
  if (start.startsWith("1f8b")) return `${mediaTypes.layer}+gzip`
  return start === "28b52ffd" ? `${mediaTypes.layer}+zstd` : mediaTypes.layer
}

async function jsonIn<T>(folder: string, path: string): Promise<T> {
  const file = await pathIn(folder, path)
  try {
    return JSON.parse(await readFile(file, "utf8")) as T
  } catch (cause) {
    throw new UnusableArchive(`${path} of the archive is not JSON`, { cause })
  }
}

/** An archive may contain links: the file they lead to must be in the folder. */
async function pathIn(folder: string, path: string): Promise<string> {
  const root = await realpath(folder)
  const real = await realpath(join(folder, path)).catch((cause: unknown) => {
    throw new UnusableArchive(`the archive lacks ${path}`, { cause })
  })
  if (!real.startsWith(root + sep)) throw new UnusableArchive(`${path} leads out of the archive`)
  return real
}

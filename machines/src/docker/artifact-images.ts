/**
 * The images of artifacts. An artifact is a folder of this computer, and its image follows from it: where the engine lacks the image, or has
 * one of another release or base, it is made again. So an engine whose images were deleted loses nothing.
 */
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { imageArchive } from "@superstep/oci/archive"
import type { BaseImage, Image } from "@superstep/oci/image"
import type { Layout } from "@superstep/oci/layout"
import { projectImage, type Runtime, runtimeImage } from "@superstep/oci/project-image"
import type { Part } from "@superstep/oci/tree-entries"
import type { Log } from "@superstep/toolkit/log/log"
import { exportBase, inspectImage, requireImage } from "./base-image.js"
import { labels } from "./container.js"
import { type Engine, EngineFailed, imageSilenceMs, untilDone } from "./engine.js"

/** What an installation calls its images in the engine. */
export const imageName = (homeId: string, tag: string): string =>
  `superstep/${homeId.replaceAll("-", "").toLowerCase()}:${tag}`

export interface ArtifactImages {
  /**
   * The image of an artifact, in the engine.
   * @returns  its name
   */
  ensure(artifactId: string): Promise<string>
  /**
   * The image of our programs alone, in the engine.
   * @returns  its name
   */
  ensureRuntime(): Promise<string>
  remove(artifactId: string): Promise<void>
}

export interface ArtifactImagesOptions {
  readonly engine: Engine
  readonly homeId: string
  /** Contains the base and the runtime, and a project's layers while its image is made. */
  readonly layout: Layout
  readonly baseReference: string
  readonly runtime: {
    readonly parts: () => Promise<readonly Part[]>
    /** The main files of the agent server, and of what runs beside an image of somebody else. */
    readonly entry: string
    readonly companion: string
  }
  readonly folderOf: (artifactId: string) => string
  readonly log: Log
}

interface Shared {
  readonly baseId: string
  readonly base: BaseImage
  readonly runtime: Runtime
}

export function artifactImages(options: ArtifactImagesOptions): ArtifactImages {
  const { engine, layout, log, homeId } = options
  const nameOf = (tag: string) => imageName(homeId, tag)
  let shared: Promise<Shared> | undefined
  // Some engines keep layers in a way that requires all of them in each archive.
  let needsAll = false
  let last: Promise<unknown> = Promise.resolve()

  const readShared = async (): Promise<Shared> => {
    const found = await requireImage(engine, options.baseReference)
    const base = await exportBase(engine, found, layout)
    const layer = await layout.addLayer(await options.runtime.parts())
    return { baseId: found.Id, base, runtime: { layer, entry: options.runtime.entry } }
  }
  /** Read once; after a failure again. */
  const sharedParts = (): Promise<Shared> => {
    shared ??= readShared().catch((error: unknown) => {
      shared = undefined
      throw error
    })
    return shared
  }
  const load = async (image: Image, reference: string, base: BaseImage) => {
    const present = new Set(needsAll ? [] : base.layers.map(({ blob }) => blob.digest))
    const archive = imageArchive({ image, layout, reference }, present)
    const query = { quiet: "1" }
    await untilDone(await engine.stream("/images/load", { method: "POST", query, archive, silenceMs: imageSilenceMs }))
  }
  const loadWithFallback = async (image: Image, reference: string, base: BaseImage) => {
    try {
      await load(image, reference, base)
    } catch (error) {
      if (needsAll || !(error instanceof EngineFailed)) throw error
      log.info({ err: error }, "the engine needs all layers of an image")
      needsAll = true
      await load(image, reference, base)
    }
  }
  const make = async (artifactId: string, { base, baseId, runtime }: Shared): Promise<void> => {
    const begun = performance.now()
    const marks = { [labels.home]: homeId, [labels.artifact]: artifactId, ...labelsOf(baseId, runtime) }
    const image = await projectImage({ base, runtime, project: options.folderOf(artifactId), labels: marks, layout })
    await loadWithFallback(image, nameOf(artifactId), base)
    const kept = new Set([...base.layers, runtime.layer].map(({ blob }) => blob.digest))
    for (const { blob } of image.layers)
      if (!kept.has(blob.digest)) await rm(layout.pathOf(blob.digest), { force: true })
    const durationMs = Math.round(performance.now() - begun)
    log.info(
      { artifact_id: artifactId, digest: image.manifestDescriptor.digest, duration_ms: durationMs },
      "image loaded",
    )
  }
  const makeRuntime = async (tag: string, { base, baseId, runtime }: Shared): Promise<void> => {
    const marks = { [labels.home]: homeId, ...labelsOf(baseId, runtime) }
    const image = runtimeImage({ base, runtime, entry: options.runtime.companion, labels: marks })
    await loadWithFallback(image, nameOf(tag), base)
  }
  const ensure = async (tag: string, makeIt: typeof make): Promise<string> => {
    const parts = await sharedParts()
    const wanted = labelsOf(parts.baseId, parts.runtime)
    const present = (await inspectImage(engine, nameOf(tag)))?.Config?.Labels ?? {}
    const isCurrent = Object.entries(wanted).every(([name, value]) => present[name] === value)
    if (!isCurrent) await makeIt(tag, parts)
    return nameOf(tag)
  }
  /** One after the other: images of one project share layers while they are made. */
  const inTurn = (tag: string, makeIt: typeof make): Promise<string> => {
    const done = last.then(() => ensure(tag, makeIt))
    last = done.catch(() => undefined)
    return done
  }
  return {
    ensure: (artifactId) => inTurn(artifactId, make),
    ensureRuntime: () => inTurn(runtimeTag, makeRuntime),
    remove: async (artifactId) => {
      await engine.json(`/images/${nameOf(artifactId)}`, { method: "DELETE", query: { force: "1" }, also: [404, 409] })
    },
  }
}

// No artifact has such an id.
const runtimeTag = "runtime"

const labelsOf = (baseId: string, { layer }: Runtime): Record<string, string> => ({
  [labels.base]: baseId,
  [labels.runtime]: layer.diffId,
})

/** The layers that an installation needs for its images. */
export const layoutFolder = (home: string): string => join(home, "images")

/** The images of builds: the base, our programs, and the source of one revision. */

import { randomUUID } from "node:crypto"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { inJob } from "@superstep/builder/job/job-places"
import { appendLayers } from "@superstep/oci/image"
import { layoutIn } from "@superstep/oci/layout"
import type { ArtifactStore } from "@superstep/oci/registry/artifact-store"
import { type ImageSenderOptions, imageSender } from "@superstep/oci/registry/image-sender"
import { ownNodeOptions } from "@superstep/toolkit/exec/own-program"

export interface SourceImagesOptions extends ImageSenderOptions {
  readonly store: ArtifactStore
  /** Of this computer, for layers on their way. */
  readonly folder: string
  /** Where the program of the build's containers is in the image. */
  readonly entry: string
}

/** @returns  a function that sends a tree, and gives the name of its image with its digest */
export function sourceImages(options: SourceImagesOptions): (revisionId: string, tree: string) => Promise<string> {
  const { store, folder, entry } = options
  const sender = imageSender(options)
  return async (revisionId, tree) => {
    const own = join(folder, randomUUID())
    const layout = layoutIn(own)
    try {
      const source = await layout.addLayer([{ from: tree, to: inJob.source }])
      const { digest } = await sender.send(
        store.sources.tagOf(revisionId),
        (base, programs) =>
          appendLayers(base, [programs, source], {
            Entrypoint: ["node", ...ownNodeOptions, entry],
            Labels: store.sources.labelsOf(revisionId),
          }),
        layout.read,
      )
      return `${store.target.host}/${store.target.repository}@${digest}`
    } finally {
      await rm(own, { recursive: true, force: true })
    }
  }
}

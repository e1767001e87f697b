/**
 * Sends an image to a registry (OCI distribution 1.1). Only what the registry lacks is sent, and the manifest comes last: until then
 * nobody sees a part of the image. An upload that breaks off goes on where the registry says.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type Descriptor, type Digest, type Image, mediaTypes } from "../image.js"
import type { Registry } from "./client.js"
import { mayPass, RegistryFailed } from "./failures.js"

export interface PushOptions {
  readonly registry: Registry
  readonly repository: string
  /** A tag. */
  readonly version: string
  readonly image: Image
  /** The content of a layer, from a byte on. */
  readonly read: (digest: Digest, from: number) => AsyncIterable<Uint8Array>
  /** A repository of the registry that may have some of the layers, such as that of the base image. */
  readonly mountFrom?: string | undefined
  readonly chunkBytes?: number
}

export interface Pushed {
  readonly digest: Digest
  /** Of the layers: how each one came into the repository. */
  readonly present: number
  readonly mounted: number
  readonly uploaded: number
}

// A break costs one chunk at most, and a chunk is held in memory.
const defaultChunkBytes = 8 * 1024 * 1024

/** @throws RegistryFailed, Unauthenticated */
export async function pushImage(options: PushOptions): Promise<Pushed> {
  const { registry, repository, version, image } = options
  const counts = { present: 0, mounted: 0, uploaded: 0 }
  const layers = new Map(image.layers.map(({ blob }) => [blob.digest, blob]))
  for (const blob of layers.values()) counts[await pushBlob(options, blob)]++
  const { config, configDescriptor, manifest, manifestDescriptor } = image
  async function* bytes(from: number) {
    yield config.subarray(from)
  }
  await pushBlob({ ...options, mountFrom: undefined, read: (_, from) => bytes(from) }, configDescriptor)
  await registry.ask(`/v2/${repository}/manifests/${version}`, {
    method: "PUT",
    headers: { "content-type": mediaTypes.manifest },
    body: new Uint8Array(manifest),
    expect: [201],
  })
  return { digest: manifestDescriptor.digest, ...counts }
}

async function pushBlob(options: PushOptions, blob: Descriptor): Promise<"present" | "mounted" | "uploaded"> {
  const { registry, repository, mountFrom: from } = options
  if (await isPresent(options, blob)) return "present"
  const mount = from === undefined ? "" : `?${new URLSearchParams({ mount: blob.digest, from })}`
  const begun = await registry.ask(`/v2/${repository}/blobs/uploads/${mount}`, { method: "POST", expect: [201, 202] })
  if (begun.status === 201) return "mounted"
  // Where it could not mount, the registry has begun an upload.
  await upload(options, blob, locationOf(begun, registry))
  return "uploaded"
}

async function isPresent({ registry, repository }: PushOptions, { digest }: Descriptor): Promise<boolean> {
  const { status } = await registry.ask(`/v2/${repository}/blobs/${digest}`, { method: "HEAD", expect: [200, 404] })
  return status === 200
}

async function beginUpload({ registry, repository }: PushOptions): Promise<string> {
  const begun = await registry.ask(`/v2/${repository}/blobs/uploads/`, { method: "POST", expect: [202] })
  return locationOf(begun, registry)
}

async function upload(options: PushOptions, blob: Descriptor, location: string): Promise<void> {
  let at: Progress = { location, sent: 0 }
  // Over all uploads of this blob: a registry that forgets uploads accepts the same chunks again and again.
  let furthest = 0
  let failures = 0
  for (;;) {
    try {
      at = await sendChunks(options, blob, at, (progress) => {
        at = progress
      })
      return await finishUpload(options, blob, at.location)
    } catch (error) {
      if (!mayPass(error) && !isLostUpload(error)) throw error
      if (at.sent > furthest) failures = 0
      furthest = Math.max(furthest, at.sent)
      const delayMs = options.registry.delaysMs[failures++]
      if (delayMs === undefined) throw error
      await sleep(delayMs)
      const progress = await progressOf(options, blob, at)
      if (!progress) return
      at = progress
    }
  }
}

interface Progress {
  /** Where the next chunk is sent. */
  readonly location: string
  /** How many bytes the registry has. */
  readonly sent: number
}

async function sendChunks(
  { registry, read, chunkBytes = defaultChunkBytes }: PushOptions,
  blob: Descriptor,
  begin: Progress,
  onProgress: (progress: Progress) => void,
): Promise<Progress> {
  let at = begin
  if (at.sent >= blob.size) return at
  for await (const chunk of chunksOf(read(blob.digest, at.sent), chunkBytes)) {
    const last = at.sent + chunk.length - 1
    const response = await registry.askOnce(at.location, {
      method: "PATCH",
      headers: { "content-type": "application/octet-stream", "content-range": `${at.sent}-${last}` },
      body: chunk,
      expect: [202],
    })
    at = { location: locationOf(response, registry), sent: last + 1 }
    onProgress(at)
  }
  return at
}

async function finishUpload({ registry }: PushOptions, { digest }: Descriptor, location: string): Promise<void> {
  const url = new URL(location)
  url.searchParams.set("digest", digest)
  await registry.askOnce(url.href, { method: "PUT", headers: { "content-length": "0" }, expect: [201] })
}

/** @returns  how far the registry has come; a new upload when it has forgotten this one; undefined when it has the blob */
async function progressOf(
  options: PushOptions,
  blob: Descriptor,
  { location }: Progress,
): Promise<Progress | undefined> {
  const { registry } = options
  // A registry that got a part of a chunk may refuse to go on with it (400, 416).
  const asked = await registry.ask(location, { expect: [204, 400, 404, 416] })
  if (asked.status !== 204) {
    // The upload may be complete, and its last answer was lost.
    if (await isPresent(options, blob)) return undefined
    return { location: await beginUpload(options), sent: 0 }
  }
  const [, last] = /^(?:bytes=)?0-(\d+)$/.exec(asked.headers.get("range") ?? "") ?? []
  // "0-0" is what registries answer when they have nothing; one byte is sent again.
  const sent = last === undefined || last === "0" ? 0 : Number(last) + 1
  return { location: locationOf(asked, registry, location), sent }
}

/** A chunk did not fit to what the registry has, or the upload is gone. */
const isLostUpload = (error: unknown): boolean =>
  error instanceof RegistryFailed && (error.status === 416 || error.status === 404)

function locationOf(response: Response, { origin }: Registry, otherwise?: string): string {
  const location = response.headers.get("location") ?? otherwise
  if (location === undefined) throw new RegistryFailed(`${origin} names no place for an upload`, response.status)
  return new URL(location, origin).href
}

/** Joins and splits what is read into pieces of one size; the last one is shorter. */
async function* chunksOf(bytes: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let chunk = new Uint8Array(size)
  let filled = 0
  for await (const piece of bytes) {
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + size - filled)
      chunk.set(part, filled)
      at += part.length
      filled += part.length
      if (filled < size) continue
      yield chunk
      chunk = new Uint8Array(size)
      filled = 0
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled)
}

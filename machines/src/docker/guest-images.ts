/**
 * Images that somebody else built, as artifacts. Such an artifact is a value: the image's name with its digest, in a file of the artifact's
 * folder. The engine has the image under a name of ours, and fetches it again where it was lost.
 */
import { createHash } from "node:crypto"
import { mkdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { goArchitecture } from "@superstep/oci/registry/pull"
import { parseReference, type Reference } from "@superstep/oci/registry/reference"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import { ImageRefused } from "../port/errors.js"
import type { AdoptedImage, Artifacts, ForeignImage } from "../port/port.js"
import { imageName } from "./artifact-images.js"
import { inspectImage, withTag } from "./base-image.js"
import { type Engine, EngineFailed, imageSilenceMs, untilDone } from "./engine.js"
import { registryAuth } from "./registry-auth.js"

export interface GuestImages {
  adopt(image: ForeignImage, signal: AbortSignal): Promise<AdoptedImage>
  /**
   * The image of an artifact, in the engine.
   * @returns  its name; undefined for an artifact that is a project
   */
  ensure(artifactId: string): Promise<string | undefined>
  /** Removes what was fetched for an artifact whose own name is removed: otherwise the engine keeps the image under the name it was fetched by. */
  removeFetched(artifactId: string): Promise<void>
}

export interface GuestImagesOptions {
  readonly engine: Engine
  readonly homeId: string
  readonly folderOf: (artifactId: string) => string
  /** The folder with credentials of registries. */
  readonly authFolder: string | undefined
}

/** What such an artifact is. */
interface Value {
  /** With its digest. */
  readonly reference: string
  readonly pullSecrets: readonly string[]
}

interface Resolved {
  readonly digest: string
  /** The image's name with its digest. */
  readonly pinned: string
}

const platform = "image"
const isGuest = (artifactId: string): boolean => artifactId.startsWith("image-")

export function guestImages({ engine, homeId, folderOf, authFolder }: GuestImagesOptions): GuestImages {
  const valueFile = (artifactId: string) => join(folderOf(artifactId), "image.json")

  const authFor = (reference: string, pullSecrets: readonly string[]) =>
    registryAuth(authFolder, parse(reference).host, pullSecrets)

  /**
   * Asks the registry. A fetch does not, when the engine has the image already.
   * @returns  the image's name with its digest
   */
  const resolve = async ({ reference, pullSecrets }: ForeignImage, signal: AbortSignal): Promise<Resolved> => {
    const registryAuth = await authFor(reference, pullSecrets)
    const { body } = await engine
      .json<{ Descriptor: { digest: string } }>(`/distribution/${withTag(reference)}/json`, { registryAuth, signal })
      .catch(asRefusal(reference))
    const { digest } = body.Descriptor
    return { digest, pinned: `${nameOf(parse(reference))}@${digest}` }
  }
  const fetch = async (pinned: string, pullSecrets: readonly string[], signal?: AbortSignal): Promise<void> => {
    const registryAuth = await authFor(pinned, pullSecrets)
    const request = { method: "POST", query: { fromImage: pinned }, silenceMs: imageSilenceMs, registryAuth } as const
    await engine
      .stream("/images/create", { ...request, ...(signal && { signal }) })
      .then(untilDone)
      .catch(asRefusal(pinned))
  }
  const tag = async (reference: string, artifactId: string): Promise<void> => {
    const [repo, name] = splitTag(imageName(homeId, artifactId))
    await engine.json(`/images/${reference}/tag`, { method: "POST", query: { repo, tag: name } })
  }

  const adopt: GuestImages["adopt"] = async (image, signal) => {
    const { reference, pullSecrets } = image
    const { digest, pinned } = await resolve(image, signal)
    await fetch(pinned, pullSecrets, signal)
    const found = await inspectImage(engine, pinned)
    if (!found) throw new EngineFailed(`the engine has fetched ${pinned}, and does not have it under that name`)
    const { Cmd, Entrypoint } = found.Config ?? {}
    if ([...(Entrypoint ?? []), ...(Cmd ?? [])].length === 0)
      throw new ImageRefused("source_unsupported", `${reference} has no command: build it with CMD or ENTRYPOINT`)
    const made = `${found.Os}/${found.Architecture}`
    if (made !== `linux/${goArchitecture()}`)
      throw new ImageRefused(
        "source_unsupported",
        `${reference} is for ${made}, and agents run on linux/${goArchitecture()}: build it for that`,
      )
    const value: Value = { reference: pinned, pullSecrets }
    const artifactId = artifactIdOf(image.deploymentId, value)
    await mkdir(folderOf(artifactId), { recursive: true, mode: 0o700 })
    await writeJson(valueFile(artifactId), value)
    await tag(pinned, artifactId)
    return { digest, artifact: { artifactId, platform, graphs: [], langgraphVersion: null, lacksSchemas: false } }
  }

  const ensure: GuestImages["ensure"] = async (artifactId) => {
    if (!isGuest(artifactId)) return undefined
    const name = imageName(homeId, artifactId)
    if (await inspectImage(engine, name)) return name
    const value = await readJson<Value>(valueFile(artifactId))
    if (!value) throw new ImageRefused("internal", `the artifact ${artifactId} is gone: deploy the revision again`)
    await fetch(value.reference, value.pullSecrets)
    await tag(value.reference, artifactId)
    return name
  }

  const removeFetched: GuestImages["removeFetched"] = async (artifactId) => {
    // In the folder of a project, a file of this name is the project's.
    const value = isGuest(artifactId) && (await readJson<Value>(valueFile(artifactId)))
    // Not forced, so that containers of others keep it (409). Other artifacts of the same image have names of their own for it.
    if (value) await engine.json(`/images/${value.reference}`, { method: "DELETE", also: [404, 409] })
  }
  return { adopt, ensure, removeFetched }
}

// A control plane stores an artifact's row right after it was adopted.
const freshMs = 60 * 60 * 1000

/** The artifacts of a machine that also runs images of others. */
export const withGuests = (
  folders: Artifacts,
  options: {
    readonly guests: GuestImages
    readonly folderOf: (artifactId: string) => string
    readonly removeImage: (artifactId: string) => Promise<void>
  },
): Artifacts => ({
  ...folders,
  adoptImage: options.guests.adopt,
  platforms: async (deploymentNumber) => [...(await folders.platforms(deploymentNumber)), platform],
  remove: async (artifactId) => {
    await options.removeImage(artifactId)
    await options.guests.removeFetched(artifactId)
    await folders.remove(artifactId)
  },
  list: async () => {
    const isFresh = async (artifactId: string) => {
      const found = await stat(options.folderOf(artifactId)).catch(ifCode(missing))
      return found !== undefined && Date.now() - found.mtimeMs < freshMs
    }
    const listed = await Promise.all(
      (await folders.list()).map(async (id) => (isGuest(id) && (await isFresh(id)) ? [] : [id])),
    )
    return listed.flat()
  },
})

/** Of each deployment its own: an artifact is removed with its deployment. Pure. */
export const artifactIdOf = (deploymentId: string, { reference, pullSecrets }: Value): string =>
  `image-${createHash("sha256")
    .update(JSON.stringify([deploymentId, reference, pullSecrets]))
    .digest("hex")
    .slice(0, 40)}`

/** @throws ImageRefused  it is no name of an image */
function parse(reference: string): Reference {
  try {
    return parseReference(reference)
  } catch (cause) {
    if (!(cause instanceof InvalidInput)) throw cause
    throw new ImageRefused("source_not_found", cause.message, { cause })
  }
}

/** Without tag and digest, as engines write it. Pure. */
const nameOf = ({ host, repository }: Reference): string =>
  host === "registry-1.docker.io" ? `docker.io/${repository}` : `${host}/${repository}`

const splitTag = (name: string): [string, string] => {
  const at = name.lastIndexOf(":")
  return [name.slice(0, at), name.slice(at + 1)]
}

const asRefusal =
  (reference: string) =>
  (error: unknown): never => {
    throw error instanceof EngineFailed ? refusalOf(reference, error) : error
  }

/** What a registry refuses stays refused; anything else may pass. Pure. */
export function refusalOf(reference: string, error: EngineFailed): Error {
  const { message: words } = error
  if (/unauthorized|denied|authentication required|no basic auth/i.test(words))
    return new ImageRefused(
      "source_auth",
      `the registry refuses ${reference} to this installation (${words}): name credentials in resource_spec.image_pull_secrets, or ask the operator (SUPERSTEP_IMAGE_CREDENTIALS)`,
      { cause: error },
    )
  if (/manifest unknown|not found|name unknown|does not exist/i.test(words))
    return new ImageRefused("source_not_found", `the registry has no ${reference} (${words})`, { cause: error })
  if (/no matching manifest/i.test(words))
    return new ImageRefused(
      "source_unsupported",
      `${reference} has no image for linux/${goArchitecture()}: build it for that`,
      {
        cause: error,
      },
    )
  return error
}

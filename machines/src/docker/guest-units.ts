/** Starts a guest and its companion. */
import { join } from "node:path"
import { writeSettingsFile } from "@superstep/toolkit/config/settings-file"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import type { UnitSpec } from "../port/port.js"
import type { ArtifactImages } from "./artifact-images.js"
import { containerName, databaseOf, withCertificates } from "./container.js"
import type { Containers } from "./containers.js"
import { EngineFailed } from "./engine.js"
import { companionName, companionOf, guestOf } from "./guest.js"
import type { UnitSocket } from "./unit-socket.js"

export interface GuestStart {
  readonly spec: UnitSpec
  readonly homeId: string
  readonly containers: Containers
  readonly images: Pick<ArtifactImages, "ensureRuntime">
  /** Of the guest, in the engine. */
  readonly image: string
  readonly network: string
  readonly environment: NodeJS.ProcessEnv
  /** `PATH` of the companion. */
  readonly path: string
  readonly user: OsUser
  readonly unitFolder: string
  readonly socket: UnitSocket
  /** Creates and starts a container of this name. */
  readonly run: (name: string, body: unknown) => Promise<string>
}

// What user code needs of this computer to reach others.
const passedOn = ["TZ", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]

/** @returns  the container that listens on the unit's socket; undefined when the guest has exited before that one started */
export async function startGuest(start: GuestStart): Promise<string | undefined> {
  const { spec, homeId, containers, images, network, user, unitFolder, socket } = start
  // Before the guest, which would exit meanwhile.
  const runtime = await images.ensureRuntime()
  const database = databaseOf(spec.databaseUri, network)
  const { environment, certificates } = withCertificates(start.environment)
  const passing = passedOn.flatMap((name) => (environment[name] ? [[name, environment[name]] as const] : []))
  const guest = guestOf(
    { ...spec, databaseUri: database.uri },
    {
      homeId,
      image: start.image,
      network,
      user,
      databaseFolder: database.folder,
      certificates,
      environment: Object.fromEntries(passing),
    },
  )
  const guestId = await start.run(containerName(spec.unitId), guest)
  const settings = join(unitFolder, "tmp", "settings.json")
  const owner = process.getuid?.() === 0 ? user : undefined
  await writeSettingsFile(settings, { SUPERSTEP_UNIT_TOKEN: spec.token }, owner)
  const place = { homeId, image: runtime, user, unitFolder, socketFolder: socket.folder, guestId, path: start.path }
  try {
    return await start.run(companionName(spec.unitId), companionOf(spec, place))
  } catch (error) {
    // Nobody can join the network of a container that has exited.
    const hasExited = (await containers.inspect(guestId))?.State.Running !== true
    if (error instanceof EngineFailed && hasExited) return undefined
    throw error
  }
}

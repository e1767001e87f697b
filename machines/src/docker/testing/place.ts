/** A data folder whose units are containers of a real engine, which `SUPERSTEP_TEST_DOCKER` names (.ci/docker). */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { layoutIn } from "@superstep/oci/layout"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { v7 as newId } from "uuid"
import { machineFolders } from "../../parts/files/folders.js"
import { controlUserOf, type Isolation } from "../../parts/isolation/isolation.js"
import { addExampleArtifact } from "../../testing/example-artifact.js"
import { type ArtifactImages, artifactImages, layoutFolder } from "../artifact-images.js"
import { containersOf } from "../containers.js"
import { engineAt } from "../engine.js"
import { guestImages } from "../guest-images.js"
import { dockerUnits } from "../units.js"

const socketPath = process.env.SUPERSTEP_TEST_DOCKER
export const baseReference = process.env.SUPERSTEP_TEST_BASE_IMAGE ?? "superstep-test-base:1"

export const noEngine =
  socketPath === undefined && "needs SUPERSTEP_TEST_DOCKER, a socket of an engine: .ci/docker starts one"

export const testEngine = () => engineAt(socketPath ?? "")

const machines = fileURLToPath(new URL("..", import.meta.resolve("@superstep/machines/testing/fake-unit")))

/** The program of fake units with what it needs, at the same places relative to each other. */
const fakeRuntime = ["machines/programs", "server/programs"]

const runtime = {
  parts: async () => fakeRuntime.map((path) => ({ from: join(machines, "..", path), to: `superstep/runtime/${path}` })),
  entry: "machines/programs/testing-unit.js",
  companion: "server/programs/companion.js",
}

// The base is exported once for all tests of a file.
const layout = layoutIn(layoutFolder(temporaryFolder()))

const places: { removeImage(): Promise<void>; readonly images: ArtifactImages }[] = []

/** Call it at the end of a file. */
export const removeTestImages = async (): Promise<void> => {
  for (const place of places) {
    await place.removeImage()
    await place.images.remove("runtime")
  }
}

export function dockerPlace({
  user = () => undefined,
  authFolder = undefined,
}: Partial<Pick<Isolation, "user">> & { readonly authFolder?: string | undefined } = {}) {
  const folders = machineFolders(temporaryFolder())
  for (const folder of [folders.units, folders.unitSockets]) mkdirSync(folder, { recursive: true })
  const artifactId = addExampleArtifact(folders)
  const engine = testEngine()
  const homeId = newId()
  const containers = containersOf(engine, homeId)
  const folderOf = (id: string) => join(folders.artifacts, id)
  const imagesNow = () => artifactImages({ engine, homeId, layout, baseReference, runtime, folderOf, log: silent })
  const images = imagesNow()
  const guests = guestImages({ engine, homeId, folderOf, authFolder })
  const units = () => {
    const environment = {
      SUPERSTEP_MASTER_KEY: "key",
      DATABASE_URI: "postgres://platform",
      HTTP_PROXY: "http://user:of-the-proxy@proxy:3128",
    }
    return dockerUnits({
      folders,
      isolation: { user },
      engine,
      containers,
      images: imagesNow(),
      guests,
      homeId,
      network: "none",
      environment,
      publishes: true,
    })
  }
  const inspect = async (unitId: string) => {
    const found = await containers.find(unitId)
    return found && containers.inspect(found.id)
  }
  const pidOf = async (unitId: string) => (await inspect(unitId))?.State.Pid ?? 0
  const place = {
    folders,
    homeId,
    artifactId,
    controlUser: controlUserOf({ user }),
    engine,
    containers,
    images,
    guests,
    units,
    pidOf,
    removeImage: () => images.remove(artifactId),
  }
  places.push(place)
  return place
}

/**
 * This computer with a container engine as a `Machine`. Builds, artifacts and the edge are those of `process`; units are containers, whose
 * images follow from the artifacts. So root can isolate here too: only this process has the engine's socket, and the control plane has not.
 */

import { ownNode } from "@superstep/builder/installed-nodes"
import type { PythonProgram } from "@superstep/builder/python/pythons"
import { layoutIn } from "@superstep/oci/layout"
import { runtimeFiles } from "@superstep/oci/runtime-files"
import {
  type Backend,
  type BackendPlace,
  composeMachine,
  type MachineOptions,
  type OpenedMachine,
} from "../parts/compose-machine.js"
import { requireFit } from "../parts/images/base-fit.js"
import { artifactImages, layoutFolder } from "./artifact-images.js"
import { inspectImage, lookInside, removeFormerLayers, requireImage } from "./base-image.js"
import { inside } from "./container.js"
import { containersOf } from "./containers.js"
import { type Engine, engineAt } from "./engine.js"
import { guestImages, withGuests } from "./guest-images.js"
import { ensureNetwork, removeNetwork } from "./network.js"
import { dockerUnits } from "./units.js"

export interface DockerMachineOptions extends MachineOptions {
  readonly docker: {
    readonly socketPath: string
    readonly baseImage: string | undefined
    /** Of the engine; undefined for one of the installation's own. */
    readonly network: string | undefined
    /** A folder with credentials of registries (registry-auth.ts). */
    readonly authFolder: string | undefined
  }
}

/** The official image for the Node that builds run on. */
export const defaultBaseImage = (): string => `node:${process.versions.node.split(".")[0]}-bookworm-slim`

/**
 * @throws EngineFailed    the engine does not answer, or cannot fetch the base image
 * @throws BaseImageUnfit  what is built here would not run in it
 */
export function openDockerMachine(options: DockerMachineOptions): Promise<OpenedMachine> {
  const { docker, homeId, home, environment, log } = options
  const engine = engineAt(docker.socketPath)
  const baseReference = docker.baseImage ?? defaultBaseImage()

  const openBackend = async ({ folders, isolation, pythons }: BackendPlace): Promise<Backend> => {
    const found = await fittingBase(engine, baseReference, await pythons.found(isolation.user(1)))
    const network = docker.network ?? (await ensureNetwork(engine, homeId))
    const { parts, entry, companion } = await runtimeFiles(options.programs)
    const folderOf = (artifactId: string) => `${folders.artifacts}/${artifactId}`
    const layout = layoutIn(layoutFolder(home))
    // Only this process uses the data folder, and it has used nothing of it yet.
    await removeFormerLayers(layout)
    const images = artifactImages({
      engine,
      homeId,
      layout,
      baseReference,
      runtime: { parts: async () => parts, entry, companion },
      folderOf,
      log,
    })
    log.info({ base_image: baseReference, network, socket: docker.socketPath }, "units are containers")
    const guests = guestImages({ engine, homeId, folderOf, authFolder: docker.authFolder })
    const shared = { engine, containers: containersOf(engine, homeId), images, guests, homeId, network }
    return {
      units: dockerUnits({ ...shared, folders, isolation, environment, publishes: true }),
      toolchain: {
        nodes: { own: ownNode, others: async () => [] },
        pythons: { found: async () => [...found] },
      },
      runsAt: inside.app,
      wrap: ({ builds, artifacts }) => ({
        builds,
        artifacts: withGuests(artifacts, { guests, folderOf, removeImage: images.remove }),
      }),
      afterStop: () => removeNetwork(engine, homeId),
    }
  }
  return composeMachine(options, openBackend)
}

/**
 * For `superstep doctor`: asks the engine for its version, and checks the base image if the engine has it.
 * @throws EngineFailed, BaseImageUnfit
 */
export async function describeEngine(socketPath: string, baseImage: string = defaultBaseImage()): Promise<string> {
  const engine = engineAt(socketPath)
  const { body } = await engine.json<{ Version: string; ApiVersion: string }>("/version")
  const words = `Docker ${body.Version} (API ${body.ApiVersion})`
  if (!(await inspectImage(engine, baseImage)))
    return `${words}; it fetches the base image ${baseImage} at the first start`
  await fittingBase(engine, baseImage, [])
  return `${words} with the base image ${baseImage}`
}

/** @returns  the Pythons of this computer that the image has in the same version, at the same place */
async function fittingBase(
  engine: Engine,
  reference: string,
  pythons: readonly PythonProgram[],
): Promise<readonly PythonProgram[]> {
  await requireImage(engine, reference)
  const there = await lookInside(
    engine,
    reference,
    pythons.map(({ path }) => path),
  )
  return requireFit(reference, there, pythons)
}

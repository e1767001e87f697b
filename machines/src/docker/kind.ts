/** Units are containers of an engine on this computer. */
import { realpath } from "node:fs/promises"
import type { Settings, Values } from "@superstep/toolkit/config/settings"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { z } from "zod"
import { stopBuilds } from "../parts/builds/builds.js"
import { baseImageSetting } from "../parts/images/base-image-setting.js"
import type { MachineKind } from "../parts/machine-kind.js"
import { EngineFailed } from "./engine.js"
import { foundDockerUnits } from "./found-units.js"

const settings = {
  engineSocket: {
    env: "SUPERSTEP_DOCKER_SOCKET",
    describe: "Unix socket of the container engine, with `docker`.",
    schema: z.string().default("/var/run/docker.sock"),
  },
  ...baseImageSetting,
  engineNetwork: {
    env: "SUPERSTEP_DOCKER_NETWORK",
    describe:
      "Network of the engine for agents, with `docker`; by default one of the installation's own, in which they cannot reach each other.",
    schema: z.string().optional(),
  },
  imageCredentials: {
    env: "SUPERSTEP_IMAGE_CREDENTIALS",
    describe:
      "Folder with credentials for registries of images that somebody else built, with `docker`: `default.json` for every deployment, `<name>.json` for those whose image_pull_secrets name it, in the format of Docker's config.json.",
    schema: z.string().optional(),
  },
} satisfies Settings

// Loaded when this kind is chosen: most installations do not.
const machine = () => import("./machine.js")

export const dockerKind = {
  units: "containers of an engine on this computer",
  settings,
  reachedBy: ["engineSocket"],
  open: async (
    { engineSocket: socketPath, baseImage, engineNetwork: network, imageCredentials: authFolder },
    options,
  ) => (await machine()).openDockerMachine({ ...options, docker: { socketPath, baseImage, network, authFolder } }),
  find: async ({ folders, homeId }, { engineSocket = "" }) => ({
    units: foundDockerUnits(folders, homeId, engineSocket),
    stopBuilds: () => stopBuilds(folders),
  }),
  // One engine may have several names, such as /run/docker.sock and /var/run/docker.sock.
  isSamePlace: async ({ engineSocket: one = "" }, { engineSocket: other = "" }) => {
    if (one === other) return true
    const [first, second] = await Promise.all([one, other].map((it) => realpath(it).catch(ifCode(missing, it))))
    return first === second
  },
  place: { word: "engine", isAway: (error) => error instanceof EngineFailed },
  describe: async ({ engineSocket, baseImage }) => (await machine()).describeEngine(engineSocket, baseImage),
} satisfies MachineKind<Values<typeof settings>>

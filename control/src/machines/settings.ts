/** The settings of machines; `config.ts` reads them. */
import type { Settings } from "@superstep/toolkit/config/settings"
import { z } from "zod"

export const machineKinds = ["process", "docker"] as const

export const machineSettings = {
  machine: {
    env: "SUPERSTEP_MACHINE",
    describe:
      "What agents run in: `process`, or `docker` for containers of an engine on this computer (docs/machines.md).",
    schema: z.enum(machineKinds).default("process"),
  },
  engineSocket: {
    env: "SUPERSTEP_DOCKER_SOCKET",
    describe: "Unix socket of the container engine, with `docker`.",
    schema: z.string().default("/var/run/docker.sock"),
  },
  baseImage: {
    env: "SUPERSTEP_BASE_IMAGE",
    describe:
      "Image that agents run on top of, with `docker`; it needs Node, and glibc at least as new as this computer's. By default `node:<major version>-bookworm-slim`.",
    schema: z.string().optional(),
  },
  engineNetwork: {
    env: "SUPERSTEP_DOCKER_NETWORK",
    describe:
      "Network of the engine for agents, with `docker`; by default one of the installation's own, in which they cannot reach each other.",
    schema: z.string().optional(),
  },
} satisfies Settings

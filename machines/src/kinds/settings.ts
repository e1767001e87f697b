/** The settings of machines; `config.ts` reads them. */

import { resolve } from "node:path"
import type { Settings } from "@superstep/toolkit/config/settings"
import { z } from "zod"
import { platformPodSettings } from "../kubernetes/platform-settings.js"
import { machineKinds } from "../port/machine-note.js"

const file = z
  .string()
  .transform((path) => resolve(path))
  .optional()

const peers = z.array(z.record(z.string(), z.unknown()))

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // Reported with the setting's name.
    return undefined
  }
}

export const machineSettings = {
  machine: {
    env: "SUPERSTEP_MACHINE",
    describe:
      "What agents run in: `process`, `docker` for containers of an engine on this computer, or `kubernetes` for pods of a cluster (docs/machines.md).",
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
      "Image that agents run on top of, with `docker` or `kubernetes`; it needs Node, and with `docker` glibc at least as new as this computer's. By default `node:<major version>-bookworm-slim`.",
    schema: z.string().optional(),
  },
  engineNetwork: {
    env: "SUPERSTEP_DOCKER_NETWORK",
    describe:
      "Network of the engine for agents, with `docker`; by default one of the installation's own, in which they cannot reach each other.",
    schema: z.string().optional(),
  },
  kubeconfig: {
    env: "SUPERSTEP_KUBECONFIG",
    describe:
      "File that leads to the cluster, with `kubernetes`; its current context is used. By default the service account of this pod.",
    schema: file,
  },
  agentsNamespace: {
    env: "SUPERSTEP_KUBERNETES_NAMESPACE",
    describe: "Namespace of agents, with `kubernetes`; by default that of this pod.",
    schema: z.string().optional(),
  },
  registry: {
    env: "SUPERSTEP_REGISTRY",
    describe:
      "Repository for the images of agents, with `kubernetes`, such as `images.example.com/team/agents`. It must be allowed to delete.",
    schema: z.string().optional(),
  },
  registryLogin: {
    env: "SUPERSTEP_REGISTRY_AUTH",
    describe:
      "File with passwords of registries, with `kubernetes`: a `config.json` as in a Secret of the type `kubernetes.io/dockerconfigjson`.",
    schema: file,
  },
  pullSecret: {
    env: "SUPERSTEP_PULL_SECRET",
    describe: "Secret in the namespace of agents with which nodes pull their images, with `kubernetes`.",
    schema: z.string().optional(),
  },
  buildEgress: {
    env: "SUPERSTEP_BUILD_EGRESS",
    describe:
      "What builds may reach besides public addresses, with `kubernetes`: peers as in `to` of a NetworkPolicy, in JSON, such as a registry in a private network.",
    schema: z
      .string()
      .default("[]")
      .transform((text, context) => {
        const found = peers.safeParse(parsed(text))
        if (found.success) return found.data
        context.addIssue({ code: "custom", message: "expected a JSON array of objects" })
        return z.NEVER
      }),
  },
  imageCredentials: {
    env: "SUPERSTEP_IMAGE_CREDENTIALS",
    describe:
      "Folder with credentials for registries of images that somebody else built, with `docker`: `default.json` for every deployment, `<name>.json` for those whose image_pull_secrets name it, in the format of Docker's config.json.",
    schema: z.string().optional(),
  },
  ...platformPodSettings,
} satisfies Settings

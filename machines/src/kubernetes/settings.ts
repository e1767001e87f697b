/** The settings of this kind. */
import type { Settings } from "@superstep/toolkit/config/settings"
import { file, json, port, secret } from "@superstep/toolkit/config/texts"
import { z } from "zod"
import { baseImageSetting } from "../parts/images/base-image-setting.js"

/** Of a control plane that is a pod, as its edges are; the chart sets them. */
const platformPodSettings = {
  edgeToken: {
    env: "SUPERSTEP_EDGE_TOKEN",
    describe: "Secret that control plane and edges share, with `kubernetes`.",
    schema: secret(z.string().min(32, "expected at least 32 characters")).optional(),
  },
  edgeUrl: {
    env: "SUPERSTEP_EDGE_URL",
    describe: "Where the control plane reaches the Service of the edges, with `kubernetes`.",
    schema: z.url({ protocol: /^http$/, message: "expected an http address" }).optional(),
  },
  edgePods: {
    env: "SUPERSTEP_EDGE_PODS",
    describe: "Labels of the edges' pods in the control plane's namespace, with `kubernetes`.",
    schema: z.string().default("app.kubernetes.io/name=superstep,app.kubernetes.io/component=edge"),
  },
  edgeAdminPort: {
    env: "SUPERSTEP_EDGE_ADMIN_PORT",
    describe: "Port of the edges' admin API, with `kubernetes`.",
    schema: port.default(8903),
  },
  podName: {
    env: "SUPERSTEP_POD_NAME",
    describe:
      "Name of the control plane's pod, with `kubernetes`; the one in charge gets the label `superstep/in-charge`.",
    schema: z.string().optional(),
  },
  controlPods: {
    env: "SUPERSTEP_CONTROL_PODS",
    describe: "Labels of all pods of the control plane, with `kubernetes`.",
    schema: z.string().default("app.kubernetes.io/name=superstep,app.kubernetes.io/component=control"),
  },
  wakePort: {
    env: "SUPERSTEP_WAKE_PORT",
    describe: "Port of SUPERSTEP_HOST at which edges ask to wake a deployment, with `kubernetes`.",
    schema: port.default(8902),
  },
} satisfies Settings

export const kubernetesSettings = {
  kubeconfig: {
    env: "SUPERSTEP_KUBECONFIG",
    describe:
      "File that leads to the cluster, with `kubernetes`; its current context is used. By default the service account of this pod.",
    schema: file.optional(),
  },
  agentsNamespace: {
    env: "SUPERSTEP_KUBERNETES_NAMESPACE",
    describe: "Namespace of agents, with `kubernetes`; by default that of this pod.",
    schema: z.string().optional(),
  },
  ...baseImageSetting,
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
    schema: file.optional(),
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
    schema: json(z.array(z.record(z.string(), z.unknown())), "expected a JSON array of objects").prefault("[]"),
  },
  ...platformPodSettings,
} satisfies Settings

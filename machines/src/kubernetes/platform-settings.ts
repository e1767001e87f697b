/** Settings of a control plane that is a pod, as its edges are; the chart sets them. */
import { Secret, type Settings } from "@superstep/toolkit/config/settings"
import { z } from "zod"

const port = (fallback: number) =>
  z
    .string()
    .regex(/^\d{1,5}$/, "expected a port number")
    .transform(Number)
    .default(fallback)

export const platformPodSettings = {
  edgeToken: {
    env: "SUPERSTEP_EDGE_TOKEN",
    describe: "Secret that control plane and edges share, with `kubernetes`.",
    schema: z
      .string()
      .min(32, "expected at least 32 characters")
      .transform((text) => new Secret(text))
      .optional(),
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
    schema: port(8903),
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
    schema: port(8902),
  },
} satisfies Settings

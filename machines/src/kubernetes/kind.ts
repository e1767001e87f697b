/** Units are pods of a cluster, builds are Jobs, artifacts are images in a registry. */
import type { Values } from "@superstep/toolkit/config/settings"
import type { MachineKind } from "../parts/machine-kind.js"
import { NoAccess } from "./cluster/access.js"
import { ClusterFailed } from "./cluster/cluster.js"
import { foundInCluster } from "./found-in-cluster.js"
import { kubernetesSettings as settings } from "./settings.js"

// Loaded when this kind is chosen: most installations do not.
const machine = () => import("./machine.js")

export const kubernetesKind = {
  units: "pods of a cluster",
  settings,
  reachedBy: ["kubeconfig", "agentsNamespace"],
  open: async (choice, options) =>
    (await machine()).openKubernetesMachine({
      ...options,
      kubernetes: { ...choice, namespace: choice.agentsNamespace },
    }),
  find: (input, note) => foundInCluster(input.folders, input, note),
  place: { word: "cluster", isAway: (error) => error instanceof ClusterFailed || error instanceof NoAccess },
  isShared: ({ edgeToken, edgeUrl }) => edgeToken !== undefined && edgeUrl !== undefined,
  describe: async (choice, environment) =>
    (await machine()).describeCluster({ ...choice, namespace: choice.agentsNamespace }, environment),
} satisfies MachineKind<Values<typeof settings>>

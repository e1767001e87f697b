/**
 * The error codes of machines: the processes, containers, pods and images of agents, as `docs/errors.md` explains them. They appear in logs, at the
 * start of the control plane, and in the `status_message` of a revision that waits.
 */
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"

export const machineCodes = {
  other_machine: {
    http: [],
    what: "Agents of this data folder run, or may still run, on another machine than the settings choose.",
    cause: "`SUPERSTEP_MACHINE` or the address of an engine or a cluster was changed while agents ran.",
    next: "Start once with the former settings and stop the agents by Ctrl-C; then change the settings.",
  },
  too_many_deployments: {
    http: [],
    what: "All users for deployments have been given out, and none is used twice.",
    cause: "Very many deployments were created over time.",
    next: "Deploy again on a new data folder with a database of its own.",
  },
  isolation_required: {
    http: [],
    what: "The settings require isolation of agents, and this user or this machine cannot give it.",
    cause: "The platform does not run as root on Linux.",
    next: "Start it as root, or choose containers or pods ([machines](machines.md)).",
  },
  engine_failed: {
    http: [],
    what: "The container engine refused a request, or does not answer.",
    cause: "The engine is stopped, or cannot fetch an image.",
    next: "Check it with `docker info` as the platform's user; the message has the engine's text.",
  },
  foreign_container: {
    http: [],
    what: "The engine has a container with the name of a unit that is not this installation's.",
    cause: "Another installation, or a data folder that was removed without stopping its agents.",
    next: "Remove the container that the message names (`docker rm -f`).",
  },
  foreign_network: {
    http: [],
    what: "The engine has a network with the platform's name that is not this installation's.",
    cause: "It was created by hand or by another installation.",
    next: "Remove the network that the message names (`docker network rm`).",
  },
  companion_failed: {
    http: [],
    what: "The program that stands beside an image of somebody else does not run, so nothing reaches the image.",
    cause: "The image takes the memory or the port of the program.",
    next: "See the deploy log; the message has the last lines.",
  },
  base_image_unfit: {
    http: [],
    what: "Agents that are built here cannot run on the base image.",
    cause: "`SUPERSTEP_BASE_IMAGE` has no Node, another C library or an older one.",
    next: "Choose another image, such as `node:24-bookworm-slim`.",
  },
  not_in_cluster: {
    http: [],
    what: "The pod has no service account.",
    cause: "`automountServiceAccountToken` is false, or the process does not run in a pod.",
    next: "Give the pod its service account, or set `SUPERSTEP_KUBECONFIG`.",
  },
  unusable_kubeconfig: {
    http: [],
    what: "The kubeconfig cannot be used.",
    cause:
      "It is no kubeconfig, its context is missing, or it logs in by an auth-provider or by a program that asks questions.",
    next: "Write one with a token, a client certificate, or a program that prints tokens (exec); the message names what is missing.",
  },
  incomplete_settings: {
    http: [],
    what: "A setting that the machine needs is missing.",
    cause: "Kubernetes needs a namespace and a registry, for example.",
    next: "Set what the message names ([settings](settings.md)).",
  },
  cluster_failed: {
    http: [],
    what: "The API server of the cluster refused a request, or does not answer.",
    cause: "A missing right of the platform's role, a quota, an admission rule, or a cluster that is being upgraded.",
    next: "The message has the API server's text; the Helm chart has all rights that the platform needs.",
  },
  pod_not_admitted: {
    http: [],
    what: "The control plane's pod lacks a label, or its name is unknown, so agents' network policies do not admit it.",
    cause: "Its manifest is not that of the chart.",
    next: "Add the label or the setting that the message names.",
  },
  pod_not_started: {
    http: [],
    what: "A pod was created and did not start within its time. The platform tries again.",
    cause: "No node has room for it, or its image cannot be pulled; the message says which.",
    next: "Look at it with `kubectl describe pod`, and make room or correct the registry's access.",
  },
  foreign_object: {
    http: [],
    what: "The namespace has an object with the name of a unit that is not this installation's.",
    cause: "Another installation uses the same namespace.",
    next: "Give each installation a namespace of its own.",
  },
  artifact_gone: {
    http: [],
    what: "The registry no longer has the artifact of the revision.",
    cause: "A cleaning rule of the registry deleted it.",
    next: "Deploy the revision again, and let the registry keep the platform's repository.",
  },
  refused_call: {
    http: [422],
    what: "The control plane, which does not run as root, asked its machine process for something that it may not do.",
    cause: "Two releases run at the same time.",
    next: "Restart the platform with one release.",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

export type MachineCodes = typeof machineCodes

/** Of revisions: why a machine refuses an image that somebody else built. A source of code fails with the same codes. */
export const refusedImageCodes = {
  source_not_found: {
    http: [],
    what: "There is no such repository, or its host does not answer.",
    cause: "A typing error in `repo_url`, or a host that this machine cannot reach.",
    next: "Check repo_url, and that this machine can reach it.",
  },
  source_auth: {
    http: [],
    what: "The repository may not be read.",
    cause:
      "It is private, and the deployment has no integration, or the token of its integration is expired or for other repositories.",
    next: "Give the deployment an integration whose token may read the repository; a repository of the platform's own machine must belong to the platform's user or to the administrator.",
  },
  source_unsupported: {
    http: [],
    what: "This installation cannot deploy this kind of source.",
    cause:
      "Images need an installation that runs containers ([machines](machines.md)); a push needs a registry, which it may not have.",
    next: "Use source github with the address of any git repository, or upload the code (internal_source).",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

export type RefusedImageCodes = typeof refusedImageCodes

declare module "@superstep/toolkit/errors/codes" {
  interface ErrorCodes extends MachineCodes, RefusedImageCodes {}
}

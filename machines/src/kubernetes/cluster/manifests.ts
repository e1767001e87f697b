/** How a unit becomes objects of Kubernetes. Pure. */

import { places } from "@superstep/oci/project-image"
import type { Secret } from "@superstep/toolkit/config/settings"
import { revealAll } from "@superstep/toolkit/config/settings"
import type { UnitSpec } from "../../port/port.js"
import { baseName, containerName, type KubernetesObject, labels, nameOf, startedPod, unitPort } from "./objects.js"

/** Paths in a container. */
export const inside = {
  app: `/${places.project}`,
  unit: "/superstep/unit",
  /** Contains the settings until the server has read them. */
  settings: "/superstep/settings/settings.json",
  /** Only the init container sees it. */
  secret: "/superstep/secret/settings.json",
} as const

export interface Owner {
  /** Of the installation. */
  readonly homeId: string
  readonly namespace: string
}

const metadata = ({ homeId, namespace }: Owner, spec: UnitSpec) => ({
  name: nameOf(spec.unitId),
  namespace,
  labels: {
    "app.kubernetes.io/managed-by": "superstep",
    [labels.owner]: homeId,
    [labels.unit]: spec.unitId,
    [labels.deployment]: spec.deploymentId,
    [labels.revision]: spec.revisionId,
  },
})

/**
 * All other objects of a unit go when its Service is deleted, whoever deletes it. Named as the controller, too, since `kubectl drain` leaves pods alone
 * that have none: nobody would replace those.
 */
const ownedBy = (serviceUid: string, { unitId }: UnitSpec) => ({
  ownerReferences: [{ apiVersion: "v1", kind: "Service", name: nameOf(unitId), uid: serviceUid, controller: true }],
})

/** The unit's address, which outlives its pods. */
export const serviceOf = (spec: UnitSpec, owner: Owner) =>
  ({
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata(owner, spec),
    spec: {
      selector: { [labels.owner]: owner.homeId, [labels.unit]: spec.unitId },
      ports: [{ name: "http", port: unitPort, targetPort: unitPort, protocol: "TCP" }],
      // The server says by its API whether it is ready, and must be reached to be asked.
      publishNotReadyAddresses: true,
    },
  }) satisfies KubernetesObject & { spec: unknown }

/** It exists from the start of a unit until it is stopped: by it, a unit whose pod was deleted differs from one that was stopped. */
export const secretOf = (
  spec: UnitSpec,
  owner: Owner,
  { serviceUid, secrets }: { readonly serviceUid: string; readonly secrets: Readonly<Record<string, Secret>> },
) =>
  ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...metadata(owner, spec), ...ownedBy(serviceUid, spec), annotations: { [startedPod]: "" } },
    type: "Opaque",
    data: { "settings.json": Buffer.from(JSON.stringify(revealAll(secrets))).toString("base64") },
  }) satisfies KubernetesObject & { type: string; data: unknown }

export interface PodPlace extends Owner {
  readonly serviceUid: string
  /** With its digest. */
  readonly image: string
  readonly pullSecret: string | undefined
  /** Variables that are no secret: whoever may read pods sees them. Without `listenVariable`. */
  readonly environment: Readonly<Record<string, string>>
}

// Deployments have users of their own, far above those of images and of people.
export const firstUser = 200_000
// What a unit without a limit needs to be scheduled.
const usualMb = 256
const usualCpu = 0.1

export const noRights = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
}

export const runAs = (user: number) => ({
  runAsNonRoot: true,
  runAsUser: user,
  runAsGroup: user,
  fsGroup: user,
  seccompProfile: { type: "RuntimeDefault" },
})

export const pullBy = (secret: string | undefined) =>
  secret === undefined ? {} : { imagePullSecrets: [{ name: secret }] }

/** A pod that runs one command in an image, for `base-image.ts`. */
export const probePodOf = (
  { homeId, namespace }: Owner,
  { image, pullSecret, command }: { image: string; pullSecret: string | undefined; command: readonly string[] },
) =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: baseName(homeId),
      namespace,
      labels: { "app.kubernetes.io/managed-by": "superstep", [labels.owner]: homeId },
    },
    spec: {
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: runAs(firstUser),
      ...pullBy(pullSecret),
      containers: [{ name: containerName, image, command, securityContext: noRights, resources: {} }],
    },
  }) satisfies KubernetesObject & { spec: unknown }

/** What is known of the base image. A Secret, since the machine may not write other objects that only keep data. */
export const knownBaseOf = ({ homeId, namespace }: Owner, text: string) =>
  ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: baseName(homeId),
      namespace,
      labels: { "app.kubernetes.io/managed-by": "superstep", [labels.owner]: homeId },
    },
    type: "Opaque",
    data: { "base.json": Buffer.from(text).toString("base64") },
  }) satisfies KubernetesObject & { type: string; data: unknown }

export function podOf(spec: UnitSpec, place: PodPlace) {
  const user = firstUser + spec.deploymentNumber
  const shared = { image: place.image, securityContext: noRights, resources: resourcesOf(spec) }
  const settings = { name: "settings", mountPath: "/superstep/settings" }
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...metadata(place, spec),
      ...ownedBy(place.serviceUid, spec),
      // The Cluster Autoscaler keeps nodes whose pods have a Service as their controller, or volumes of the node.
      annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "true" },
    },
    spec: {
      // The planner restarts units, and counts how often.
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 30,
      securityContext: runAs(user),
      ...pullBy(place.pullSecret),
      // The server deletes its settings before user code runs, which it could not in a volume of a Secret.
      initContainers: [
        {
          ...shared,
          name: "settings",
          command: ["node", "-e", `fs.copyFileSync("${inside.secret}", "${inside.settings}")`],
          volumeMounts: [settings, { name: "secret", mountPath: "/superstep/secret", readOnly: true }],
        },
      ],
      containers: [
        {
          ...shared,
          name: containerName,
          env: [
            { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
            ...Object.entries(place.environment).map(([name, value]) => ({ name, value: literal(value) })),
            { name: listenVariable, value: `$(POD_IP):${unitPort}` },
          ],
          ports: [{ name: "http", containerPort: unitPort, protocol: "TCP" }],
          volumeMounts: [
            settings,
            { name: "data", mountPath: `${inside.unit}/data` },
            { name: "tmp", mountPath: `${inside.unit}/tmp` },
            { name: "tmp", mountPath: "/tmp" },
          ],
        },
      ],
      volumes: [
        { name: "settings", emptyDir: { medium: "Memory", sizeLimit: "4Mi" } },
        { name: "secret", secret: { secretName: nameOf(spec.unitId) } },
        { name: "data", emptyDir: {} },
        { name: "tmp", emptyDir: {} },
      ],
    },
  } satisfies KubernetesObject & { spec: unknown }
}

/** Where the server listens: in a pod, at the address that the cluster gives to it. */
export const listenVariable = "SUPERSTEP_LISTEN"

/** Kubernetes replaces `$(NAME)` in values, and `$$` by `$`. */
const literal = (value: string): string => value.replaceAll("$", "$$$$")

/** What it may use at most is also reserved for it, except processor time, which is shared while nobody needs it. */
function resourcesOf({ limits, memoryMb = usualMb }: UnitSpec) {
  const quantities = (memory: number | undefined, cpu: number | undefined) => ({
    ...(memory !== undefined && { memory: `${memory}Mi` }),
    ...(cpu !== undefined && { cpu: `${Math.round(cpu * 1000)}m` }),
  })
  return {
    requests: quantities(limits.memoryMb ?? memoryMb, Math.min(limits.cpu ?? usualCpu, usualCpu)),
    limits: quantities(limits.memoryMb, limits.cpu),
  }
}

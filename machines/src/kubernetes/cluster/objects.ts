/** The objects of an installation: names, paths, labels, and the parts of them that we read. Pure. */
import { serviceNameOf, servicePort } from "../../parts/units/unit-address.js"

/** Only objects with our `owner` are changed or deleted. */
export const labels = {
  /** The installation. */
  owner: "superstep/owner",
  unit: "superstep/unit",
  deployment: "superstep/deployment",
  revision: "superstep/revision",
  /** The revision whose build it belongs to. */
  build: "superstep/build",
  artifact: "superstep/artifact",
} as const

/** On the Secret of a unit: the uid of its pod that has started, until we kill it. What ends that pod afterwards is somebody else, or its program. */
export const startedPod = "superstep/started-pod"

/** Pods of the platform, which the network policies of agents admit; the chart gives it to control plane and edges. */
export const platformLabels = { "app.kubernetes.io/part-of": "superstep" } as const

export const fieldManager = "superstep"

export interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  /** Of the last change of this object; grows with each change of any object of its kind. */
  readonly resourceVersion?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly ownerReferences?: readonly {
    readonly apiVersion: string
    readonly kind: string
    readonly name: string
    readonly uid: string
  }[]
}

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
}

export interface ContainerStatus {
  readonly name: string
  readonly containerID?: string
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string }
    readonly running?: { readonly startedAt?: string }
    readonly terminated?: { readonly exitCode: number; readonly reason?: string; readonly message?: string }
  }
}

export interface Pod extends KubernetesObject {
  readonly spec: {
    readonly nodeName?: string
    readonly containers: readonly {
      readonly name: string
      readonly resources?: { readonly limits?: Readonly<Record<string, string>> }
    }[]
  }
  readonly status?: {
    readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown"
    readonly reason?: string
    readonly message?: string
    readonly podIP?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

export interface Job extends KubernetesObject {
  readonly status?: {
    /** How many of its pods have failed. */
    readonly failed?: number
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message?: string
    }[]
  }
}

export const isOwnedBy = ({ metadata }: KubernetesObject, owner: KubernetesObject): boolean =>
  metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false

/** The name of all objects of a unit. */
export const nameOf = serviceNameOf

/** The name of a build's Job and Secret: the same build is found again by whoever knows its revision. */
export const buildNameOf = (revisionId: string): string => `superstep-build-${revisionId}`

/** The pod that looks into the base image, and the Secret that keeps what it saw. */
export const baseName = (homeId: string): string => `superstep-base-${homeId}`

export const containerName = "unit"
export const unitPort = servicePort

export const pathsIn = (namespace: string) => ({
  pods: `/api/v1/namespaces/${namespace}/pods`,
  services: `/api/v1/namespaces/${namespace}/services`,
  secrets: `/api/v1/namespaces/${namespace}/secrets`,
  jobs: `/apis/batch/v1/namespaces/${namespace}/jobs`,
  policies: `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`,
  metrics: `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`,
})

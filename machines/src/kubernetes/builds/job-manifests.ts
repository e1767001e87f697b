/** How a build becomes objects of Kubernetes. Pure. */

import { type BuildRequest, stepLimitMs } from "@superstep/builder/build-request"
import { inJob, type Part, secretFiles } from "@superstep/builder/job/job-places"
import type { BuildSource } from "../../port/port.js"
import { firstUser, noRights, type Owner, pullBy, runAs } from "../cluster/manifests.js"
import { buildNameOf, type KubernetesObject, labels } from "../cluster/objects.js"

export const annotations = { platform: "superstep/platform" } as const

export interface JobPlace extends Owner {
  /** With its digest. */
  readonly image: string
  readonly artifactId: string
  readonly pullSecret: string | undefined
}

// A net for what nobody removes: while no control plane runs, a result is kept for so long.
const keptSeconds = 3600
/** For a node that starts the pod, and for the way to the registry; in milliseconds. */
export const startMs = 600_000
const sendMs = 900_000
// Of our own programs, beside those of the project.
const ownMb = 256
const ownDiskMb = 1024
const usualCpu = "500m"

const metadata = ({ homeId, namespace }: Owner, { revisionId, deploymentId }: BuildSource) => ({
  name: buildNameOf(revisionId),
  namespace,
  labels: {
    "app.kubernetes.io/managed-by": "superstep",
    [labels.owner]: homeId,
    [labels.build]: revisionId,
    [labels.deployment]: deploymentId,
  },
})

/** @param jobUid  the Secret goes with the Job; undefined until there is one */
export const buildSecretOf = (
  source: BuildSource,
  owner: Owner,
  { files, jobUid }: { readonly files: Readonly<Record<string, string>>; readonly jobUid?: string | undefined },
) =>
  ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      ...metadata(owner, source),
      ...(jobUid !== undefined && {
        ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: buildNameOf(source.revisionId), uid: jobUid }],
      }),
    },
    type: "Opaque",
    data: Object.fromEntries(Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString("base64")])),
  }) satisfies KubernetesObject & { type: string; data: unknown }

export function jobOf(source: BuildSource, request: BuildRequest, place: JobPlace) {
  const meta = metadata(place, source)
  const own = { ...meta.labels, [labels.artifact]: place.artifactId }
  const { limits, plan } = request
  const stepsMs = plan.steps.map((step) => stepLimitMs(step, limits))
  const wholeMs = [startMs, sendMs, limits.verifyMs, limits.verifyMs, ...stepsMs].reduce((sum, ms) => sum + ms, 0)
  // Of all that the pod writes, also on its volumes: a node adds them up.
  const disk = { "ephemeral-storage": `${limits.diskMb + ownDiskMb}Mi` }
  const container = (name: Part, memoryMb: number, volumeMounts: readonly Mount[]) => ({
    name,
    image: place.image,
    args: [name],
    securityContext: noRights,
    // Node's own words, when it ends without ours.
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: {
      requests: { memory: `${memoryMb}Mi`, cpu: usualCpu, ...disk },
      limits: { memory: `${memoryMb}Mi`, ...disk },
    },
    volumeMounts,
  })
  const shared = [
    { name: "work", mountPath: inJob.work },
    { name: "tmp", mountPath: "/tmp" },
    { name: "request", mountPath: inJob.request, readOnly: true },
  ]
  const filesOf = (...names: readonly string[]) => ({
    secret: { secretName: meta.name, items: names.map((name) => ({ key: name, path: name })) },
  })
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { ...meta, labels: own, annotations: { [annotations.platform]: request.platform } },
    spec: {
      // The pipeline tries again, from a fresh tree.
      backoffLimit: 0,
      activeDeadlineSeconds: Math.ceil(wholeMs / 1000),
      ttlSecondsAfterFinished: keptSeconds,
      template: {
        metadata: { labels: own },
        spec: {
          restartPolicy: "Never",
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 5,
          securityContext: runAs(firstUser + source.deploymentNumber),
          ...pullBy(place.pullSecret),
          initContainers: [
            container("build", limits.memoryMb + ownMb, shared),
            container("verify", limits.memoryMb + ownMb, [
              ...shared,
              { name: "variables", mountPath: inJob.variables, readOnly: true },
            ]),
          ],
          containers: [
            {
              ...container("push", ownMb, [
                // It may have been written by user code, which has ended.
                { name: "work", mountPath: inJob.work, readOnly: true },
                { name: "layers", mountPath: inJob.layers },
                { name: "sending", mountPath: inJob.sending, readOnly: true },
              ]),
              env: certificatesOf(request),
            },
          ],
          volumes: [
            { name: "work", emptyDir: {} },
            { name: "tmp", emptyDir: {} },
            { name: "layers", emptyDir: {} },
            { name: "request", ...filesOf(secretFiles.request) },
            { name: "variables", ...filesOf(secretFiles.variables) },
            { name: "sending", ...filesOf(secretFiles.sending, secretFiles.login) },
          ],
        },
      },
    },
  } satisfies KubernetesObject & { spec: unknown }
}

// Node reads it only at its start.
const certificates = "NODE_EXTRA_CA_CERTS"

/** Of a registry with an authority of its own. */
function certificatesOf({ environment }: BuildRequest): { name: string; value: string }[] {
  const value = environment[certificates]
  return value === undefined ? [] : [{ name: certificates, value }]
}

interface Mount {
  readonly name: string
  readonly mountPath: string
  readonly readOnly?: boolean
}

/** A cluster as a `Machine`: builds are Jobs, which send what they publish to a registry; units are pods. */
import { join } from "node:path"
import { usualPythons } from "@superstep/builder/python/pythons"
import { layoutIn } from "@superstep/oci/layout"
import { artifactStore } from "@superstep/oci/registry/artifact-store"
import { type Registry, registryAt } from "@superstep/oci/registry/client"
import { isRegistryAway } from "@superstep/oci/registry/failures"
import { credentialsIn } from "@superstep/oci/registry/login-file"
import { findImage } from "@superstep/oci/registry/pull"
import { originOf, parseReference, type Reference } from "@superstep/oci/registry/reference"
import { runtimeFiles } from "@superstep/oci/runtime-files"
import type { Secret } from "@superstep/toolkit/config/settings"
import { readableBy } from "@superstep/toolkit/files/own-tree"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { localArtifacts } from "../parts/builds/artifacts.js"
import {
  type Backend,
  type BackendPlace,
  composeMachine,
  type MachineOptions,
  type OpenedMachine,
} from "../parts/compose-machine.js"
import { baseDigest, lookInside, withDigest } from "./base-image.js"
import { buildsInCluster, programsIn } from "./builds/builds-in-cluster.js"
import { inside } from "./cluster/manifests.js"
import { policyNames, unitPoliciesOf } from "./cluster/network-policies.js"
import { baseName, labels, pathsIn } from "./cluster/objects.js"
import { type ClusterSettings, IncompleteSettings, openCluster } from "./cluster/open-cluster.js"
import { requireAdmitted } from "./cluster/own-pod.js"
import { ownedObjects } from "./cluster/owned-objects.js"
import { keepPodInCharge } from "./cluster/pod-in-charge.js"
import { watchedObjects } from "./cluster/watched-objects.js"
import { edgesInCluster } from "./edge/edges-in-cluster.js"
import { registryArtifacts } from "./registry-artifacts.js"
import { unitImages } from "./unit-images.js"
import { kubernetesUnits } from "./units.js"

export interface KubernetesSettings extends ClusterSettings {
  /** Such as `images.example.com/team/agents`. */
  readonly registry: string | undefined
  /** A file with `auths`, for sending images; undefined for a registry that asks for none. */
  readonly registryLogin: string | undefined
  /** The Secret by which nodes pull. */
  readonly pullSecret: string | undefined
  readonly baseImage: string | undefined
  /** What builds may reach besides public addresses: peers as in a NetworkPolicy. */
  readonly buildEgress: readonly object[]
  /** Edges as pods, when both are set; else one edge beside the control plane. */
  readonly edgeToken: Secret | undefined
  readonly edgeUrl: string | undefined
  readonly edgePods: string
  readonly edgeAdminPort: number
  readonly wakePort: number
  /** This pod and all pods of the control plane; undefined outside of pods. */
  readonly podName: string | undefined
  readonly controlPods: string
}

export interface KubernetesMachineOptions extends MachineOptions {
  readonly kubernetes: KubernetesSettings
}

/** The official image for the Node that builds run on. */
export const defaultBaseImage = (): string => `node:${process.versions.node.split(".")[0]}-bookworm-slim`

/**
 * @throws IncompleteSettings, NotInCluster, UnusableKubeconfig, PodNotAdmitted
 * @throws ClusterFailed   the API server refuses, or does not answer
 * @throws RegistryFailed  the registry refuses, or does not answer
 * @throws BaseImageUnfit  what is built here would not run in it
 */
export async function openKubernetesMachine(options: KubernetesMachineOptions): Promise<OpenedMachine> {
  const { kubernetes, homeId, home, environment, log, programs } = options
  const { cluster, namespace, platformNamespace } = await openAsPlatform(kubernetes, environment)
  const target = repositoryOf(kubernetes.registry)
  const objects = ownedObjects(cluster, homeId)
  // Refused now rather than at the first start of a unit.
  await Promise.all(watchedPaths(namespace).map((path) => objects.watched(path).list()))
  const baseImage = kubernetes.baseImage ?? defaultBaseImage()
  const base = parseReference(baseImage)
  const baseRegistry = registryFor(base, kubernetes.registryLogin)
  const layout = layoutIn(join(home, "images"))
  const sendingFolder = join(layout.folder, "sending")
  // Of a former process, which may have been killed. What this one sends it makes itself.
  await removeTree(sendingFolder)
  await layout.keepOnly([])
  const store = artifactStore({
    registry: registryFor(target, kubernetes.registryLogin),
    target,
    folder: sendingFolder,
    homeId,
    log,
  })
  // Credentials that are wrong are refused now. A registry that is away is not: what runs needs it only for what is new.
  await store.list().catch((error: unknown) => {
    if (!isRegistryAway(error)) throw error
    log.warn({ err: error }, "the registry does not answer: builds and starts that need it fail until it does")
  })

  const openBackend = async ({ folders, isolation }: BackendPlace): Promise<Backend> => {
    const unitFiles = await runtimeFiles(programs)
    const shared = { cluster, objects, homeId, namespace, pullSecret: kubernetes.pullSecret }
    const digest = await baseDigest(shared, baseImage, () => findImage(baseRegistry, base))
    const there = await lookInside(shared, withDigest(baseImage, digest), usualPythons)
    const sending = {
      store,
      baseRegistry,
      base: { repository: base.repository, host: base.host, digest },
      layout,
    }
    // Those of an older release may allow more to units that run already.
    for (const policy of unitPoliciesOf(shared, platformNamespace))
      await objects.apply(pathsIn(namespace).policies, policy)
    const { nodes, pythons } = programsIn(there)
    const limits = options.buildLimits
    log.info({ namespace, registry: kubernetes.registry, base_image: baseImage }, "builds are Jobs, and units are pods")
    const builds = await buildsInCluster({
      ...shared,
      ...sending,
      folders,
      isolation,
      limits,
      there,
      programs,
      environment,
      folder: sendingFolder,
      login: loginFor(target, kubernetes.registryLogin),
      egress: kubernetes.buildEgress,
    })
    return {
      units: kubernetesUnits({
        ...shared,
        platformNamespace,
        folder: folders.units,
        imageOf: unitImages({ ...sending, runtime: unitFiles, log }),
        environment,
        log,
      }),
      servicesIn: namespace,
      toolchain: { nodes, pythons },
      runsAt: inside.app,
      wrap: ({ artifacts: local }) => ({
        builds,
        artifacts: registryArtifacts(local, {
          store,
          inBuild: builds.artifactIds,
          workFolder: join(home, "schemas"),
          artifactsIn: (artifacts) =>
            localArtifacts({
              folders: { ...folders, artifacts },
              nodes,
              pythons,
              isolation,
              environment,
              analyseEntry: programs.analyse,
              limitMs: limits.verifyMs,
            }),
          share: (folder, deploymentNumber) => {
            const user = isolation.user(deploymentNumber)
            if (user) readableBy(folder, user)
          },
        }),
      }),
      afterStop: async () => {
        for (const name of policyNames(homeId)) await objects.remove(pathsIn(namespace).policies, name)
        await objects.remove(pathsIn(namespace).secrets, baseName(homeId))
      },
      close: objects.close,
    }
  }
  const opened = await composeMachine(options, openBackend)
  const { edgeToken, edgeUrl } = kubernetes
  if (edgeToken === undefined || edgeUrl === undefined) return opened
  if (opened.controlUser)
    throw new IncompleteSettings("SUPERSTEP_EDGE_URL: edges as pods need a control plane that does not run as root")
  const settings = { ...kubernetes, edgeToken, edgeUrl, wakeHost: options.edge.host }
  const platform = { cluster, namespace: platformNamespace, log }
  const { podName, controlPods: selector } = kubernetes
  const edges = edgesInCluster({ ...platform, settings })
  // Refused now, too.
  await edges.edge.isAlive()
  const stopMarking = podName === undefined ? undefined : keepPodInCharge({ ...platform, selector, podName })
  return withEdges(opened, edges, stopMarking)
}

/** The cluster, of which this process is a pod unless a kubeconfig says where it is. */
async function openAsPlatform(
  settings: Pick<KubernetesSettings, keyof ClusterSettings | "podName">,
  environment: NodeJS.ProcessEnv,
) {
  const opened = await openCluster(settings, environment)
  const { podName, kubeconfig } = settings
  if (kubeconfig === undefined) await requireAdmitted(opened.cluster, { namespace: opened.platformNamespace, podName })
  return opened
}

const watchedPaths = (namespace: string): string[] => {
  const { pods, services, jobs } = pathsIn(namespace)
  return [pods, services, jobs]
}

/** Somebody else starts and stops the edges. */
function withEdges(
  machine: OpenedMachine,
  { edge, listenForWakeCalls }: ReturnType<typeof edgesInCluster>,
  stopMarking: (() => Promise<void>) | undefined,
): OpenedMachine {
  return {
    ...machine,
    edge: { ...edge, copyCertificate: async () => undefined, stop: async () => undefined },
    listenForWakeCalls,
    close: async () => {
      await stopMarking?.()
      await edge.close()
      await machine.close()
    },
  }
}

/**
 * For `superstep doctor`: asks the API server and the registry.
 * @throws as `openKubernetesMachine`
 */
export async function describeCluster(
  settings: Omit<KubernetesSettings, "edgeToken" | "buildEgress">,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const { cluster, namespace, platformNamespace } = await openAsPlatform(settings, environment)
  const { body } = await cluster.json<{ readonly gitVersion: string }>("/version")
  const ofEdges = { path: pathsIn(platformNamespace).pods, labelSelector: settings.edgePods }
  const ofAgents = watchedPaths(namespace).map((path) => ({ path, labelSelector: labels.owner }))
  for (const kind of settings.edgeUrl === undefined ? ofAgents : [...ofAgents, ofEdges]) {
    const watch = watchedObjects({ cluster, ...kind })
    await watch.list().finally(watch.close)
  }
  const target = repositoryOf(settings.registry)
  await registryFor(target, settings.registryLogin).ask("/v2/", { expect: [200] })
  return `Kubernetes ${body.gitVersion} with the namespace ${namespace}, and the registry ${target.host}`
}

/** @throws IncompleteSettings, InvalidInput */
function repositoryOf(registry: string | undefined): Pick<Reference, "host" | "repository"> {
  if (registry === undefined)
    throw new IncompleteSettings(
      "SUPERSTEP_REGISTRY: set it to a repository for the images of agents, such as images.example.com/team/agents",
    )
  const { host, repository } = parseReference(registry)
  return { host, repository }
}

/** @param login  a file, which is read again when the registry refuses: passwords of clouds last for hours */
const registryFor = (reference: Pick<Reference, "host">, login: string | undefined): Registry =>
  registryAt({ origin: originOf(reference), login: loginFor(reference, login) })

const loginFor =
  ({ host }: Pick<Reference, "host">, login: string | undefined) =>
  async () =>
    login === undefined ? undefined : credentialsIn(login, host)

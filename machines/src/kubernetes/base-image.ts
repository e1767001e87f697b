/**
 * Looks into the base image, by a pod of it that ends at once. The answer is kept in the cluster, by the image's digest: the next control plane must
 * be able to start while the registry is away or no node has room.
 */
import { buffer } from "node:stream/consumers"
import { isRegistryAway } from "@superstep/oci/registry/failures"
import { BaseImageUnfit, type Inside, probe } from "../parts/images/base-fit.js"
import type { Cluster } from "./cluster/cluster.js"
import { knownBaseOf, type Owner, probePodOf } from "./cluster/manifests.js"
import { baseName, type Pod, pathsIn } from "./cluster/objects.js"
import type { OwnedObjects } from "./cluster/owned-objects.js"
import { whyPending } from "./cluster/pod-state.js"

export interface BaseImagePlace extends Owner {
  readonly cluster: Cluster
  readonly objects: OwnedObjects
  readonly pullSecret: string | undefined
}

// A node may have to pull the image first.
const startMs = 300_000

/** A name as engines write it, for exactly this image. Pure. */
export const withDigest = (image: string, digest: string): string =>
  `${image.replace(/(:[\w.-]+)?(@.*)?$/, "")}@${digest}`

/**
 * @param find  asks the registry
 * @returns     the digest of the base image; while its registry does not answer, the one that was used last
 * @throws RegistryFailed  and no digest of this image is known
 */
export async function baseDigest(
  place: BaseImagePlace,
  image: string,
  find: () => Promise<{ readonly digest: string }>,
): Promise<string> {
  try {
    return (await find()).digest
  } catch (error) {
    const known = isRegistryAway(error) ? await readKnown(place) : undefined
    const [name, digest = ""] = known?.image.split("@") ?? []
    if (name === undefined || withDigest(image, digest) !== `${name}@${digest}`) throw error
    return digest
  }
}

interface Known {
  /** With its digest. */
  readonly image: string
  /** The program that was asked in it. */
  readonly asked: string
  readonly inside: Inside
}

async function readKnown({ objects, namespace, homeId }: BaseImagePlace): Promise<Known | undefined> {
  const found = await objects.find<ReturnType<typeof knownBaseOf>>(pathsIn(namespace).secrets, baseName(homeId))
  return found && (JSON.parse(Buffer.from(found.data["base.json"], "base64").toString()) as Known)
}

/**
 * @param image    with its digest
 * @param pythons  paths to look for
 * @throws BaseImageUnfit  it has no Node that our programs run on, or cannot be pulled
 */
export async function lookInside(place: BaseImagePlace, image: string, pythons: readonly string[]): Promise<Inside> {
  const asked = probe(pythons)
  // A control plane that was killed while it looked may have left it.
  await place.objects.remove(pathsIn(place.namespace).pods, baseName(place.homeId), { graceSeconds: 0 })
  const known = await readKnown(place)
  if (known?.image === image && known.asked === asked) return known.inside
  const inside = await ask(place, image, asked)
  const why = unusable(inside)
  if (why !== undefined)
    throw new BaseImageUnfit(`the base image ${image} ${why}: choose another one with SUPERSTEP_BASE_IMAGE`)
  const text = JSON.stringify({ image, asked, inside } satisfies Known)
  await place.objects.apply(pathsIn(place.namespace).secrets, knownBaseOf(place, text))
  return inside
}

// Of our programs (package.json, "engines").
const oldestNode = [20, 19] as const

/** Why our programs do not run in it. Projects are built in it too, so what is compiled there fits. Pure. */
export function unusable({ node, arch }: Pick<Inside, "node" | "arch">): string | undefined {
  if (arch !== process.arch) return `is for ${arch}, and this control plane makes images for ${process.arch}`
  const [major = 0, minor = 0] = node.slice(1).split(".").map(Number)
  const isOld = major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])
  return isOld ? `has Node ${node}, and ${oldestNode.join(".")} is the oldest that works` : undefined
}

async function ask(place: BaseImagePlace, image: string, asked: string): Promise<Inside> {
  const { cluster, objects, namespace, homeId, pullSecret } = place
  const { pods } = pathsIn(namespace)
  const name = baseName(homeId)
  await objects.untilGone(pods, name, startMs)
  await objects.apply(pods, probePodOf(place, { image, pullSecret, command: ["node", "-e", asked] }))
  try {
    const pod = await untilEnded(objects, pods, name)
    if (pod?.status?.phase === "Succeeded") {
      const log = await buffer(await cluster.stream(`${pods}/${name}/log`))
      return JSON.parse(log.toString()) as Inside
    }
    throw new BaseImageUnfit(
      `the base image ${image} does not run "node" in the cluster (${pod ? whyPending(pod) : "its pod was deleted"}): choose one with Node that nodes can pull, such as node:20-bookworm-slim`,
    )
  } finally {
    await objects.remove(pods, name, { graceSeconds: 0 })
  }
}

async function untilEnded(objects: OwnedObjects, path: string, name: string): Promise<Pod | undefined> {
  const pods = objects.watched<Pod>(path)
  const ended = await pods.until((shown) => {
    const pod = shown.find(name)
    const { phase } = pod?.status ?? {}
    return !pod || phase === "Succeeded" || phase === "Failed" ? { pod } : undefined
  }, startMs)
  return ended ? ended.pod : pods.find(name)
}

/**
 * The objects of an installation in a namespace. What lacks our label is neither changed nor deleted, whatever its name is. What is asked again and
 * again is watched; a write first reads what the server has now, since a watch may be behind.
 */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { type Cluster, ClusterFailed } from "./cluster.js"
import { fieldManager, type KubernetesObject, labels } from "./objects.js"
import { type WatchedObjects, watchedObjects } from "./watched-objects.js"

/** The namespace has an object of a unit's name that is not ours. */
export class ForeignObject extends KnownError {
  readonly code = "foreign_object"
  constructor({ kind, metadata }: KubernetesObject) {
    super(`the namespace has a ${kind} ${metadata.name} of somebody else: remove or rename it`)
  }
}

export interface Removal {
  /** How long the processes of a pod may take to end, in seconds; 0 removes the object without asking its node. */
  readonly graceSeconds?: number
}

export interface OwnedObjects {
  /** Ours at a path: one watch for all callers. It shows what is written here at once. */
  watched<T extends KubernetesObject>(path: string): WatchedObjects<T>
  /** Asks the server. @returns  undefined when there is none, or when it is somebody else's */
  find<T extends KubernetesObject>(path: string, name: string): Promise<T | undefined>
  /** Asks the server. @param match  labels that they have besides ours */
  list<T extends KubernetesObject>(path: string, match?: Readonly<Record<string, string>>): Promise<T[]>
  /**
   * Creates it, or makes it so. A pod that exists cannot be changed: remove it first.
   * @throws ForeignObject
   */
  apply<T extends KubernetesObject>(path: string, object: T): Promise<T & { metadata: { uid: string } }>
  /** Changes annotations of an object; does nothing when there is none. */
  annotate(path: string, name: string, annotations: Readonly<Record<string, string>>): Promise<void>
  /** Resolves when it is requested. */
  remove(path: string, name: string, removal?: Removal): Promise<void>
  /** @returns  whether it is gone within this time */
  untilGone(path: string, name: string, limitMs: number): Promise<boolean>
  /** Ends all watches. */
  close(): Promise<void>
}

/** @param homeId  of the installation */
export function ownedObjects(cluster: Cluster, homeId: string): OwnedObjects {
  const watches = new Map<string, WatchedObjects<KubernetesObject>>()
  const watched = <T extends KubernetesObject>(path: string): WatchedObjects<T> => {
    const found = watches.get(path) ?? watchedObjects({ cluster, path, labelSelector: `${labels.owner}=${homeId}` })
    watches.set(path, found)
    // The type of objects follows from the path, which the caller chooses.
    return found as unknown as WatchedObjects<T>
  }
  const isOurs = ({ metadata }: KubernetesObject) => metadata.labels?.[labels.owner] === homeId
  const read = async <T extends KubernetesObject>(path: string, name: string): Promise<T | undefined> => {
    const { status, body } = await cluster.json<T>(`${path}/${name}`, { also: [404] })
    return status === 404 ? undefined : body
  }
  const find: OwnedObjects["find"] = async <T extends KubernetesObject>(path: string, name: string) => {
    const found = await read<T>(path, name)
    return found && isOurs(found) ? found : undefined
  }
  return {
    watched,
    find,
    list: async <T extends KubernetesObject>(path: string, match: Readonly<Record<string, string>> = {}) => {
      const selected = Object.entries({ [labels.owner]: homeId, ...match })
      const query = { labelSelector: selected.map((it) => it.join("=")).join() }
      const { body } = await cluster.json<{ readonly items: T[] }>(path, { query })
      return body.items
    },
    apply: async <T extends KubernetesObject>(path: string, object: T) => {
      const present = await read(path, object.metadata.name)
      if (present && !isOurs(present)) throw new ForeignObject(object)
      const uid = present?.metadata.uid
      // With its uid we change the object that we have looked at, and no other. A new one takes no field of somebody else.
      const { status, body } = await cluster.json<T & { metadata: { uid: string } }>(
        `${path}/${object.metadata.name}`,
        {
          method: "PATCH",
          query: { fieldManager, force: String(uid !== undefined) },
          contentType: "application/apply-patch+yaml",
          body: uid === undefined ? object : { ...object, metadata: { ...object.metadata, uid } },
          also: [409],
        },
      )
      if (status !== 409) {
        watches.get(path)?.wrote(body.metadata)
        return body
      }
      const now = await read(path, object.metadata.name)
      if (now && !isOurs(now)) throw new ForeignObject(object)
      throw new ClusterFailed(`${object.kind} ${object.metadata.name} was changed meanwhile: try again`, status)
    },
    annotate: async (path, name, annotations) => {
      const found = await find(path, name)
      if (!found) return
      // 409: it was replaced since we looked.
      const { status, body } = await cluster.json<KubernetesObject>(`${path}/${name}`, {
        method: "PATCH",
        contentType: "application/merge-patch+json",
        body: { metadata: { uid: found.metadata.uid, annotations } },
        also: [404, 409],
      })
      if (status === 200) watches.get(path)?.wrote(body.metadata)
    },
    remove: async (path, name, { graceSeconds } = {}) => {
      const found = await find(path, name)
      if (!found) return
      const preconditions = { uid: found.metadata.uid }
      const body = {
        preconditions,
        propagationPolicy: "Background",
        ...(graceSeconds !== undefined && { gracePeriodSeconds: graceSeconds }),
      }
      // 409: it was replaced since we looked.
      await cluster.json(`${path}/${name}`, { method: "DELETE", body, also: [404, 409] })
      watches.get(path)?.removed(found.metadata)
    },
    untilGone: async (path, name, limitMs) =>
      (await watched(path).until((shown) => !shown.find(name) || undefined, limitMs)) ?? false,
    close: async () => {
      await Promise.all([...watches.values()].map((it) => it.close()))
    },
  }
}

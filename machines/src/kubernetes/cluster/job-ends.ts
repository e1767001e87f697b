/** Ends Jobs of builds. */
import { buildNameOf, type Job, labels, type Pod, pathsIn } from "./objects.js"
import type { OwnedObjects } from "./owned-objects.js"

export interface JobEnds {
  /** Revisions that have a Job. */
  list(): Promise<string[]>
  /** Resolves when its processes have ended, or their node is lost. */
  end(revisionId: string): Promise<void>
}

// With 0 the API would forget a pod before its node has ended it.
const killSeconds = 1
// How long a node may take for it, until it counts as lost.
const lostMs = 30_000

export function jobEnds(objects: OwnedObjects, namespace: string): JobEnds {
  const paths = pathsIn(namespace)
  const endPod = async (name: string): Promise<void> => {
    await objects.remove(paths.pods, name, { graceSeconds: killSeconds })
    if (await objects.untilGone(paths.pods, name, lostMs)) return
    await objects.remove(paths.pods, name, { graceSeconds: 0 })
    await objects.untilGone(paths.pods, name, lostMs)
  }
  return {
    list: async () =>
      (await objects.watched<Job>(paths.jobs).list()).flatMap(({ metadata }) => metadata.labels?.[labels.build] ?? []),
    end: async (revisionId) => {
      await objects.remove(paths.jobs, buildNameOf(revisionId))
      await objects.remove(paths.secrets, buildNameOf(revisionId))
      // Asked now: the cluster makes these pods, and a watch may not show the last one yet.
      const pods = await objects.list<Pod>(paths.pods, { [labels.build]: revisionId })
      await Promise.all(pods.map(({ metadata }) => endPod(metadata.name)))
    },
  }
}

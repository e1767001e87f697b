/** The log of a build, from the logs of its pod's containers. The lines have numbers, so nothing of it is kept here that another control plane would miss. */

import {
  type JobLine,
  type LogPlace,
  parseJobLine,
  partsFrom,
  toCursor,
  toLogLine,
  toPlace,
} from "@superstep/builder/job/job-log"
import type { Part } from "@superstep/builder/job/job-places"
import type { BuildLogs } from "../../port/port.js"
import { type Cluster, ClusterFailed } from "../cluster/cluster.js"
import type { ContainerStatus, Pod } from "../cluster/objects.js"

export interface JobOutput {
  /** @param from  0, or `next` of the last read */
  logs(revisionId: string, from: number): Promise<BuildLogs>
  forget(revisionId: string): void
}

// The API server asks the pod's node. One that is lost must not keep anybody waiting.
const openMs = 5000

/** @param findPod  the pod of a revision's build */
export function jobOutput(
  cluster: Cluster,
  pods: string,
  findPod: (revisionId: string) => Promise<Pod | undefined>,
): JobOutput {
  /** When the last line that was read was printed: the API gives a log from a time on. */
  const last = new Map<string, { readonly cursor: number; readonly at: string }>()

  const read = async (pod: Pod, part: Part, since: string | undefined): Promise<PartLog> => {
    if (!hasStarted(pod, part)) return {}
    const query = { container: part, ...(since !== undefined && { sinceTime: since }) }
    try {
      return { text: await cluster.text(`${pods}/${pod.metadata.name}/log`, { query, answerMs: openMs }) }
    } catch (error) {
      if (!(error instanceof ClusterFailed)) throw error
      return { unread: error.message }
    }
  }

  return {
    logs: async (revisionId, from) => {
      const pod = await findPod(revisionId)
      if (!pod) return { lines: [], next: from }
      const lines: JobLine[] = []
      let place: LogPlace = toPlace(from)
      const known = last.get(revisionId)
      let at = known?.cursor === from ? known.at : undefined
      let unread: string | undefined
      for (const part of partsFrom(place)) {
        const found = await read(pod, part, at)
        unread = found.unread
        if (found.text === undefined) break
        const { n: begin } = place
        const fresh = found.text
          .split("\n")
          .flatMap((line) => parseJobLine(line) ?? [])
          .filter(({ n }) => n > begin)
        lines.push(...fresh)
        place = { ...place, n: fresh.at(-1)?.n ?? begin }
        at = fresh.at(-1)?.at ?? at
        if (!hasSucceeded(pod, part)) break
        // It had ended before its log was read, so that was all.
        place = { part: place.part + 1, n: 0 }
        at = undefined
      }
      const next = toCursor(place)
      if (at !== undefined) last.set(revisionId, { cursor: next, at })
      return { lines: lines.map(toLogLine), next, ...(unread !== undefined && { unread }) }
    },
    forget: (revisionId) => {
      last.delete(revisionId)
    },
  }
}

/** The log of a container; empty when it has none yet. */
interface PartLog {
  readonly text?: string
  /** Why it cannot be read now: the node or the API server refuses, or does not answer. */
  readonly unread?: string
}

const stateOf = ({ status }: Pod, part: Part): ContainerStatus["state"] =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(({ name }) => name === part)
    ?.state

const hasStarted = (pod: Pod, part: Part): boolean => {
  const state = stateOf(pod, part)
  return (state?.running ?? state?.terminated) !== undefined
}

const hasSucceeded = (pod: Pod, part: Part): boolean => stateOf(pod, part)?.terminated?.exitCode === 0

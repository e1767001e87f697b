/** The log of a build, from the logs of its pod's containers. The lines have numbers, so nothing of it is kept here that another control plane would miss. */
import { buffer } from "node:stream/consumers"
import type { BuildLogs } from "../../port.js"
import { type Cluster, ClusterFailed } from "../cluster.js"
import type { Pod } from "../objects.js"
import { type JobLine, type LogPlace, parseJobLine, partsFrom, toCursor, toLogLine, toPlace } from "./job-log.js"
import type { Part } from "./job-places.js"

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

  /** @returns  undefined when there is none now: the container has not started, or its node or the API server does not answer */
  const textOf = async (pod: Pod, part: Part, since: string | undefined): Promise<string | undefined> => {
    const query = { container: part, ...(since !== undefined && { sinceTime: since }) }
    try {
      return (
        await buffer(await cluster.stream(`${pods}/${pod.metadata.name}/log`, { query, answerMs: openMs }))
      ).toString()
    } catch (error) {
      if (error instanceof ClusterFailed) return undefined
      throw error
    }
  }
  const hasSucceeded = ({ status }: Pod, part: Part): boolean =>
    status?.initContainerStatuses?.find(({ name }) => name === part)?.state?.terminated?.exitCode === 0

  return {
    logs: async (revisionId, from) => {
      const pod = await findPod(revisionId)
      const lines: JobLine[] = []
      let place: LogPlace = toPlace(from)
      const known = last.get(revisionId)
      let at = known?.cursor === from ? known.at : undefined
      for (const part of pod ? partsFrom(place) : []) {
        const text = pod && (await textOf(pod, part, at))
        if (!pod || text === undefined) break
        const { n: begin } = place
        const fresh = text
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
      return { lines: lines.map(toLogLine), next }
    },
    forget: (revisionId) => {
      last.delete(revisionId)
    },
  }
}

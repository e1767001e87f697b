/** The pod of the control plane in charge has a label, by which the Service finds it. Those that stand by have none. */
import { repeated } from "@superstep/toolkit/exec/repeated"
import type { Log } from "@superstep/toolkit/log/log"
import type { Cluster } from "./cluster.js"
import { type Pod, pathsIn } from "./objects.js"

export const inChargeLabel = "superstep/in-charge"

export interface PodInChargeOptions {
  readonly cluster: Cluster
  /** Where the platform runs. */
  readonly namespace: string
  /** Labels of all pods of the control plane. */
  readonly selector: string
  /** This pod. */
  readonly podName: string
  readonly log: Log
}

// A former process in charge may start again in its pod, which kept the label. Asked and not watched: what is written follows from what was just read, since
// callers go where the label is. One process asks, however many agents there are.
const everyMs = 5000

/**
 * Gives this pod the label and takes it from the others, now and again. Only the process in charge calls it.
 * @returns  a function that stops it; the label stays, until the next one in charge takes it
 */
export function keepPodInCharge(options: PodInChargeOptions): () => Promise<void> {
  const { cluster, namespace, selector, podName, log } = options
  const { pods } = pathsIn(namespace)
  const setLabel = async (name: string, value: "true" | null) => {
    await cluster.json(`${pods}/${name}`, {
      method: "PATCH",
      contentType: "application/merge-patch+json",
      body: { metadata: { labels: { [inChargeLabel]: value } } },
      // One that is gone needs no change.
      also: [404],
    })
  }
  let hasWarned = false
  const keep = repeated(async () => {
    try {
      const { body } = await cluster.json<{ readonly items: readonly Pod[] }>(pods, {
        query: { labelSelector: selector },
      })
      const marked = body.items.filter(({ metadata }) => metadata.labels?.[inChargeLabel] !== undefined)
      const names = marked.map(({ metadata }) => metadata.name)
      if (!names.includes(podName)) await setLabel(podName, "true")
      for (const name of names) if (name !== podName) await setLabel(name, null)
      hasWarned = false
    } catch (err) {
      if (!hasWarned) log.warn({ err }, "the label of the control plane in charge could not be set; retrying")
      hasWarned = true
    }
  }, everyMs)
  keep.wake()
  return keep.stop
}

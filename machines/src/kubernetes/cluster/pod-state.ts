/** What a pod says of its unit. Pure. */
import type { UnitStatus } from "../../port/port.js"
import { containerName, type Pod } from "./objects.js"

/** @returns  undefined for a pod whose unit has not been started yet */
export function stateOf(pod: Pod): Exclude<UnitStatus, { readonly state: "absent" }> | undefined {
  const { phase } = pod.status ?? {}
  const terminated = statusOf(pod)?.state?.terminated
  // A pod counts as running until its node has said so; its only container tells earlier.
  if (phase === "Failed" || phase === "Succeeded" || terminated) {
    const limitMb = megabytesOf(pod.spec.containers[0]?.resources?.limits?.memory)
    return terminated?.reason === "OOMKilled" && limitMb !== undefined
      ? { state: "exited", ranOutOfMb: limitMb }
      : { state: "exited" }
  }
  return phase === "Running" ? { state: "running" } : undefined
}

/** Whether somebody ends or has ended this pod, or its node does to get room: not its own program. */
export function isDisrupted({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return true
  // Set before a deletion that may not come, so it counts only for what has ended.
  const hasTarget = status?.conditions?.some((it) => it.type === "DisruptionTarget" && it.status === "True") ?? false
  return hasTarget && (status?.phase === "Failed" || status?.phase === "Succeeded")
}

const statusOf = ({ status }: Pod) => status?.containerStatuses?.find(({ name }) => name === containerName)

/** Why a pod has not started: that no node takes it, or its image cannot be pulled. */
export function whyPending({ status }: Pod): string {
  const unscheduled = status?.conditions?.find((it) => it.type === "PodScheduled" && it.status === "False")
  const waiting = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
    .map(({ state }) => state?.waiting)
    .find((it) => it?.reason !== undefined && it.reason !== "PodInitializing" && it.reason !== "ContainerCreating")
  return unscheduled?.message ?? (waiting ? `${waiting.reason}: ${waiting.message ?? ""}` : "no node has started it")
}

const units: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, G: 1e9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 }

/** A quantity of memory in bytes. @returns  undefined for a text that is no quantity */
export function bytesOf(quantity: string | undefined): number | undefined {
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?)(k|M|G|Ki|Mi|Gi)?$/.exec(quantity ?? "") ?? []
  const factor = units[unit]
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor
}

const megabytesOf = (quantity: string | undefined): number | undefined => {
  const bytes = bytesOf(quantity)
  return bytes === undefined ? undefined : Math.round(bytes / 2 ** 20)
}

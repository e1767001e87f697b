/**
 * What the Secret of a unit says besides its content: that the unit was started and not stopped, and which of its pods has started (K4). Secrets are
 * not watched, since that needs the right to list all of the namespace. We alone write them, so what was read counts until the unit's pod changes.
 */
import { type Clock, realClock } from "@superstep/toolkit/time/clock"
import { type KubernetesObject, nameOf, type Pod, startedPod } from "./cluster/objects.js"
import type { OwnedObjects } from "./cluster/owned-objects.js"

export interface UnitMarks {
  /** @param pod  of the unit now. @returns  undefined without a Secret; else the uid of the pod that has started, or "" */
  find(unitId: string, pod: Pod | undefined): Promise<string | undefined>
  /** @param podUid  "" when we are about to end it */
  write(unitId: string, podUid: string): Promise<void>
  /** To be called after each other write of the Secret. */
  forget(unitId: string): void
}

// For Secrets that somebody deletes.
const keptMs = 30_000

export function unitMarks(
  objects: Pick<OwnedObjects, "find" | "annotate">,
  secrets: string,
  clock: Clock = realClock,
): UnitMarks {
  const known = new Map<string, { readonly version: string; readonly at: number; readonly mark: Promise<Mark> }>()
  const ask = async (unitId: string): Promise<Mark> => {
    const secret = await objects.find<KubernetesObject>(secrets, nameOf(unitId))
    return secret && (secret.metadata.annotations?.[startedPod] ?? "")
  }
  const forget = (unitId: string) => void known.delete(unitId)
  return {
    find: (unitId, pod) => {
      const version = pod?.metadata.resourceVersion ?? ""
      const found = known.get(unitId)
      if (found?.version === version && clock.now() - found.at < keptMs) return found.mark
      const asked = { version, at: clock.now(), mark: ask(unitId) }
      known.set(unitId, asked)
      asked.mark.catch(() => known.get(unitId) === asked && forget(unitId))
      return asked.mark
    },
    write: async (unitId, podUid) => {
      await objects.annotate(secrets, nameOf(unitId), { [startedPod]: podUid })
      forget(unitId)
    },
    forget,
  }
}

type Mark = string | undefined

/** The control groups of units. A group's name follows from the unit's id, so every control plane finds it. */
import type { FileHandle } from "node:fs/promises"
import { memoryOf } from "@superstep/toolkit/exec/process-tree"
import { killGroup, makeGroup, membersOf, memoryLimitMb, openDoor, ranOutOfMemory, removeGroup } from "./cgroup.js"
import type { Cgroups } from "./cgroups.js"
import { mostProcesses } from "./limits.js"
import type { UnitSpec } from "./port.js"

export interface UnitGroups {
  /** Makes the group of a unit that is about to start; what a former life of it left behind is ended. */
  prepare(unitId: string, limits: UnitSpec["limits"]): Promise<FileHandle>
  /** The limit that the kernel ended it for, in megabytes; undefined when it did not. */
  ranOutOfMb(unitId: string): Promise<number | undefined>
  /** What its processes use; "held" when the kernel sees to that, undefined when nothing is in its group. */
  memoryMb(unitId: string): Promise<number | "held" | undefined>
  /** Ends all that is in it. */
  kill(unitId: string): Promise<void>
  /** Ends all that is in it, and deletes it. */
  remove(unitId: string): Promise<void>
  /** Units that have one. */
  list(): Promise<string[]>
}

const prefix = "unit-"

export function unitGroups(cgroups: Cgroups): UnitGroups {
  const pathOf = (unitId: string) => cgroups.pathOf(`${prefix}${unitId}`)
  return {
    prepare: async (unitId, limits) => {
      await makeGroup(pathOf(unitId), { ...limits, processes: mostProcesses }, cgroups.held)
      return openDoor(pathOf(unitId))
    },
    ranOutOfMb: async (unitId) => ((await ranOutOfMemory(pathOf(unitId))) ? memoryLimitMb(pathOf(unitId)) : undefined),
    memoryMb: async (unitId) => {
      const members = await membersOf(pathOf(unitId))
      if (members.length === 0) return undefined
      return (await memoryLimitMb(pathOf(unitId))) === undefined ? memoryOf(members) : "held"
    },
    kill: (unitId) => killGroup(pathOf(unitId)),
    remove: (unitId) => removeGroup(pathOf(unitId)),
    list: async () =>
      (await cgroups.names()).filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)),
  }
}

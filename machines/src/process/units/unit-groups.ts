/** The control groups of units. A group's name is derived from the unit's id, so every control plane finds it. */

import type { FileHandle } from "node:fs/promises"
import { mostProcesses } from "@superstep/toolkit/exec/process-limits"
import { memoryOf } from "@superstep/toolkit/exec/process-tree"
import type { UnitSpec } from "../../port/port.js"
import {
  killGroup,
  makeGroup,
  membersOf,
  memoryLimitMb,
  openProcsHandle,
  ranOutOfMemory,
  removeGroup,
} from "../cgroups/cgroup.js"
import type { Cgroups } from "../cgroups/cgroups.js"

export interface UnitGroups {
  /** Creates the group of a unit that is about to start; first kills what a former life of it left behind. */
  prepare(unitId: string, limits: UnitSpec["limits"]): Promise<FileHandle>
  /** The limit that the kernel killed it for, in megabytes; undefined when it did not. */
  ranOutOfMb(unitId: string): Promise<number | undefined>
  /** Memory of its processes in megabytes; "held" when the kernel enforces the limit, undefined when its group is empty. */
  memoryMb(unitId: string): Promise<number | "held" | undefined>
  /** Kills all that is in it. */
  kill(unitId: string): Promise<void>
  /** Kills all that is in it, and deletes it. */
  remove(unitId: string): Promise<void>
  /** Units that have a group. */
  list(): Promise<string[]>
}

const prefix = "unit-"

export function unitGroups(cgroups: Cgroups): UnitGroups {
  const pathOf = (unitId: string) => cgroups.pathOf(`${prefix}${unitId}`)
  return {
    prepare: async (unitId, limits) => {
      await makeGroup(pathOf(unitId), { ...limits, processes: mostProcesses }, cgroups.held)
      return openProcsHandle(pathOf(unitId))
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

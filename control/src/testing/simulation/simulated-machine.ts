/** The machine of a simulation, as one control plane sees it, and what must never be asked of it. */

import type { Machine } from "@superstep/machines/port/port"
import type { Faults, Manner } from "@superstep/toolkit/testing/simulation/faults"
import type { Life } from "@superstep/toolkit/testing/simulation/life"
import { addressOf, type SimulatedUnits } from "./simulated-units.js"

export interface MachineWatch {
  /** Called before a unit is stopped on purpose. */
  readonly onStop: (unitId: string, graceMs: number) => Promise<void>
  /** How long a unit takes to finish what it has, at most `graceMs`. */
  readonly finishing: (unitId: string, graceMs: number) => Promise<void>
}

const quick: Manner = { of: "machine", ms: [1, 30], failing: 5, hanging: 0.5 }
const slow: Manner = { of: "machine", ms: [20, 1500], failing: 20, hanging: 4 }

export function simulatedMachine(units: SimulatedUnits, faults: Faults, watch: MachineWatch, life: Life): Machine {
  const call = <T>(manner: Manner, work: () => T | Promise<T>) => faults.call(life, manner, work)
  const unitOf = (unitId: string) => units.all.get(unitId)
  const nothing = async () => undefined
  return {
    units: {
      start: (spec) => call(slow, () => units.begin(spec)),
      status: (unitId) => call(quick, () => units.statusOf(unitId)),
      address: addressOf,
      logs: async (_, from) => ({ lines: [], next: from }),
      watchLogs: async () => () => undefined,
      memoryMb: async () => new Map(),
      usage: async () => new Map(),
      kill: (unitId) =>
        call(quick, () => {
          const unit = unitOf(unitId)
          if (unit?.process === "running") units.exit(unit)
        }),
      stop: (unitId, { graceMs }) =>
        call(quick, async () => {
          const unit = unitOf(unitId)
          if (!unit) return
          await watch.onStop(unitId, graceMs)
          if (unit.process === "running" && graceMs > 0 && unit.answers === "all")
            await watch.finishing(unitId, graceMs)
          units.stop(unit, graceMs)
        }),
      remove: (unitId) => call(quick, () => void units.all.delete(unitId)),
      list: () => call(quick, () => [...units.all.keys()]),
    },
    builds: {
      list: async () => [],
      stop: nothing,
      remove: nothing,
    } satisfies Partial<Machine["builds"]> as unknown as Machine["builds"],
    artifacts: {
      list: async () => [],
      caches: async () => [],
      usedMb: async () => 0,
      remove: nothing,
      removeCache: nothing,
    } satisfies Partial<Machine["artifacts"]> as unknown as Machine["artifacts"],
  }
}

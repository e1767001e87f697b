/**
 * This computer as a `Machine`: units are processes of it. Where the system offers them, root gives each unit a control group.
 */
import {
  type Backend,
  type BackendPlace,
  composeMachine,
  type MachineOptions,
  type OpenedMachine,
} from "../parts/compose-machine.js"
import type { Isolation } from "../parts/isolation/isolation.js"
import { type Cgroups, openCgroups } from "./cgroups/cgroups.js"
import { unitLimits } from "./cgroups/limits.js"
import { processUnits } from "./units/units.js"

/** @throws as `composeMachine` */
export function openProcessMachine(options: MachineOptions): Promise<OpenedMachine> {
  const { programs, environment, log, crashPoint } = options
  return composeMachine(options, async ({ folders, isolation, nodes }: BackendPlace): Promise<Backend> => {
    const cgroups = await groupsOfUnits(options, isolation)
    const shared = { folders, isolation, nodes, environment, log, crashPoint }
    return {
      units: processUnits({ ...shared, serverEntry: programs.server, cgroups }),
      close: async () => cgroups?.close(),
    }
  })
}

async function groupsOfUnits(
  { homeId, home, environment, log }: MachineOptions,
  isolation: Isolation,
): Promise<Cgroups | undefined> {
  const user = isolation.user(0)
  const { cgroups, problem } = await openCgroups({ homeId, home }, user)
  const held = cgroups?.held ?? new Set()
  const limits = unitLimits({ isIsolated: user !== undefined, held, path: environment.PATH ?? "" })
  log.info({ limits, control_group: cgroups?.folder, why_not_more: problem }, "limits of units")
  return cgroups
}

/** Units are processes of this computer. */
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { installedNodes } from "@superstep/builder/installed-nodes"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { readJson } from "@superstep/toolkit/files/json-file"
import { stopBuilds } from "../parts/builds/builds.js"
import type { MachineKind } from "../parts/machine-kind.js"
import { existingCgroups } from "./cgroups/cgroups.js"
import { openProcessMachine } from "./machine.js"
import { processUnits } from "./units/units.js"

export const processKind = {
  units: "processes of this computer",
  settings: {},
  reachedBy: [],
  open: (_choice, options) => openProcessMachine(options),
  find: async ({ folders, homeId, log, toStop }) => {
    const cgroups = toStop ? await existingCgroups({ homeId, home: folders.home }) : undefined
    const units = processUnits({
      folders,
      // Only for finding and stopping units: values that only a start needs stay empty.
      serverEntry: "",
      isolation: { user: () => undefined },
      nodes: installedNodes([], {}),
      environment: {},
      log,
      cgroups,
    })
    return { units, stopBuilds: () => stopBuilds(folders), close: async () => cgroups?.close() }
  },
  anyRuns: async ({ folders }) => {
    for (const unitId of await readdir(folders.units).catch(ifCode(missing, []))) {
      const identity = await readJson<ProcessIdentity>(join(folders.units, unitId, "pid.json"))
      if (identity && (await isAlive(identity))) return true
    }
    return false
  },
} satisfies MachineKind<object>

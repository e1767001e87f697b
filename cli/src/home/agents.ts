/**
 * The agents of an installation: its units, the edge in front of them and the builds of new ones. The control plane starts
 * and stops them; when it cannot, because it was killed or fails to start, this module stops them.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { readJson } from "@superstep/control/files/json-file"
import { homeIdOf } from "@superstep/control/home"
import { foundDockerUnits } from "@superstep/control/machines/docker/found-units"
import { foundKubernetesUnits } from "@superstep/control/machines/kubernetes/found-units"
import { readMachineNote } from "@superstep/control/machines/machine-note"
import type { Units } from "@superstep/control/machines/port"
import { stopBuilds } from "@superstep/control/machines/process/builds/builds"
import { installedNodes } from "@superstep/control/machines/process/builds/installed-nodes"
import { type Cgroups, existingCgroups } from "@superstep/control/machines/process/cgroups/cgroups"
import { retiredEdges } from "@superstep/control/machines/process/edge/retired-edges"
import { machineFolders } from "@superstep/control/machines/process/folders"
import { processUnits } from "@superstep/control/machines/process/units/units"
import { Secret } from "@superstep/toolkit/config/settings"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import type { Home } from "./home.js"

export interface Agents {
  /** Whether an edge of this installation runs: then the agents' port is in use by ourselves. */
  edgeRuns(): Promise<boolean>
  /** Ids of the units that run. */
  running(): Promise<string[]>
  /** Whether a process runs that may have requests under way. */
  anyRuns(): Promise<boolean>
  /** Stops everything that runs, the edge first, so that no request is sent to a stopping unit. Each gets `graceMs`. */
  stop(graceMs: number): Promise<void>
}

export function agentsOf(home: Home): Agents {
  const folders = machineFolders(home.folder)
  // Only for finding and stopping units: values that only a start needs stay empty.
  const user = () => undefined
  const nodes = installedNodes([], {})
  const shared = { folders, serverEntry: "", isolation: { user }, nodes, environment: {}, log: home.log }
  const unitsIn = async (cgroups: Cgroups | undefined): Promise<Units> => {
    const note = await readMachineNote(home.folder)
    if (note.machine === "process") return processUnits({ ...shared, cgroups })
    const homeId = await homeIdOf(folders)
    if (note.machine === "kubernetes") return foundKubernetesUnits(folders, { homeId, log: home.log }, note)
    return foundDockerUnits(folders, homeId, note.engineSocket)
  }
  const edge = () => readJson<ProcessIdentity>(join(folders.edge, "pid.json"))
  const edgeRuns = async () => {
    const identity = await edge()
    return identity !== undefined && isAlive(identity)
  }
  // Listing creates the folder, whose permissions the control plane must choose.
  const units = async (found: Units) => (existsSync(folders.units) ? await found.list() : [])
  // Only where a control plane has run; else this must not create the folder.
  const groups = async () =>
    existsSync(folders.units) ? existingCgroups({ homeId: await homeIdOf(folders), home: folders.home }) : undefined
  const running = async () => {
    const ungrouped = await unitsIn(undefined)
    const looked = (await units(ungrouped)).map(async (unitId) => ({ unitId, ...(await ungrouped.status(unitId)) }))
    return (await Promise.all(looked)).filter(({ state }) => state === "running").map(({ unitId }) => unitId)
  }
  return {
    edgeRuns,
    running,
    anyRuns: async () => (await edgeRuns()) || (await running()).length > 0,
    stop: async (graceMs) => {
      const identity = await edge()
      if (identity) await stopProcess(identity, { graceMs })
      await retiredEdges({ folders, token: new Secret(""), drainMs: 0, log: home.log }).stop(graceMs)
      const cgroups = await groups()
      const ending = await unitsIn(cgroups)
      const unitIds = await units(ending)
      await Promise.all([...unitIds.map((unitId) => ending.stop(unitId, { graceMs })), stopBuilds(folders)])
      await cgroups?.close()
    },
  }
}

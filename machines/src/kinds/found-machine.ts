/**
 * What an installation has on the machine that its data folder was used with, for programs that start nothing. They stop what a killed control
 * plane left behind.
 */
import { existsSync } from "node:fs"
import { installedNodes } from "@superstep/builder/installed-nodes"
import type { Log } from "@superstep/toolkit/log/log"
import { foundDockerUnits } from "../docker/found-units.js"
import { foundInCluster } from "../kubernetes/found-in-cluster.js"
import { stopBuilds } from "../parts/builds/builds.js"
import { machineFolders } from "../parts/files/folders.js"
import { readMachineNote } from "../port/machine-note.js"
import type { Units } from "../port/port.js"
import { type Cgroups, existingCgroups } from "../process/cgroups/cgroups.js"
import { processUnits } from "../process/units/units.js"

export interface FoundMachine {
  /** Ids of the units that run. None in a shared place: control planes on other computers supervise units there. */
  running(): Promise<string[]>
  /** Stops all units and builds. */
  stop(ending: Ending): Promise<void>
}

export interface Ending {
  /** For each unit. */
  readonly graceMs: number
  /** Whether a control plane on another computer may be in charge of the same installation. Then what runs in a shared place is left to it. */
  readonly mayHaveOthers: boolean
}

export interface FoundMachineOptions {
  /** The data folder. */
  readonly home: string
  /** Its id. */
  readonly homeId: () => Promise<string>
  readonly log: Log
}

export function foundMachine({ home, homeId: idOfHome, log }: FoundMachineOptions): FoundMachine {
  const folders = machineFolders(home)
  // Listing creates the folder, whose permissions the control plane must choose.
  const hasUnits = () => existsSync(folders.units)
  const isShared = async () => (await readMachineNote(home)).installationId !== undefined

  const find = async (cgroups?: Cgroups): Promise<Found> => {
    const note = await readMachineNote(home)
    const { machine, installationId } = note
    const homeId = installationId ?? (await idOfHome())
    if (machine === "kubernetes") return foundInCluster(folders, { homeId, log }, note)
    const stopBuildsHere = () => stopBuilds(folders)
    if (machine === "docker")
      return { units: foundDockerUnits(folders, homeId, note.engineSocket), stopBuilds: stopBuildsHere }
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
    return { units, stopBuilds: stopBuildsHere }
  }
  const running = async (): Promise<string[]> => {
    if (!hasUnits() || (await isShared())) return []
    const { units } = await find()
    const looked = (await units.list()).map(async (unitId) => ({ unitId, ...(await units.status(unitId)) }))
    return (await Promise.all(looked)).filter(({ state }) => state === "running").map(({ unitId }) => unitId)
  }
  const stop: FoundMachine["stop"] = async ({ graceMs, mayHaveOthers }) => {
    if (!hasUnits()) return
    if (mayHaveOthers && (await isShared())) return
    const cgroups = await existingCgroups({ homeId: await idOfHome(), home: folders.home })
    const found = await find(cgroups)
    const stopped = (await found.units.list()).map((unitId) => found.units.stop(unitId, { graceMs }))
    await Promise.all([...stopped, found.stopBuilds()])
    await cgroups?.close()
  }
  return { running, stop }
}

interface Found {
  readonly units: Pick<Units, "list" | "status" | "stop">
  stopBuilds(): Promise<void>
}

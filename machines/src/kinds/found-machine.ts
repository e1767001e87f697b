/**
 * What an installation has on the machine that its data folder was used with, for programs that start nothing. They stop what a killed control
 * plane left behind.
 */
import { existsSync } from "node:fs"
import type { Log } from "@superstep/toolkit/log/log"
import { machineFolders } from "../parts/files/folders.js"
import type { Found } from "../parts/machine-kind.js"
import { readMachineNote } from "../port/machine-note.js"
import { kindOf } from "./kinds.js"

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
  /** Of this process. */
  readonly environment: NodeJS.ProcessEnv
}

export function foundMachine({ home, homeId: idOfHome, log, environment }: FoundMachineOptions): FoundMachine {
  const folders = machineFolders(home)
  // Listing creates the folder, whose permissions the control plane must choose.
  const hasUnits = () => existsSync(folders.units)
  const isShared = async () => (await readMachineNote(home)).installationId !== undefined

  const find = async (toStop: boolean): Promise<Found> => {
    const note = await readMachineNote(home)
    const homeId = note.installationId ?? (await idOfHome())
    return kindOf(note).find({ folders, homeId, log, environment, toStop }, note)
  }
  const running = async (): Promise<string[]> => {
    if (!hasUnits() || (await isShared())) return []
    const { units } = await find(false)
    const looked = (await units.list()).map(async (unitId) => ({ unitId, ...(await units.status(unitId)) }))
    return (await Promise.all(looked)).filter(({ state }) => state === "running").map(({ unitId }) => unitId)
  }
  const stop: FoundMachine["stop"] = async ({ graceMs, mayHaveOthers }) => {
    if (!hasUnits()) return
    if (mayHaveOthers && (await isShared())) return
    const found = await find(true)
    const stopped = (await found.units.list()).map((unitId) => found.units.stop(unitId, { graceMs }))
    await Promise.all([...stopped, found.stopBuilds()])
    await found.close?.()
  }
  return { running, stop }
}

/** Chooses the kind of machine. */
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { readJson } from "../files/json-file.js"
import { foundDockerUnits } from "./docker/found-units.js"
import { openDockerMachine } from "./docker/machine.js"
import { type MachineNote, readMachineNote, writeMachineNote } from "./machine-note.js"
import { type MachineFolders, machineFolders } from "./process/folders.js"
import { openProcessMachine, type ProcessMachine, type ProcessMachineOptions } from "./process/machine.js"

export interface MachineChoice extends MachineNote {
  readonly baseImage: string | undefined
  readonly engineNetwork: string | undefined
}

/** Units of another kind of machine run; this one would start them again beside them. */
export class OtherMachine extends KnownError {
  readonly code = "other_machine"
}

/** @throws OtherMachine */
export async function openMachine(choice: MachineChoice, options: ProcessMachineOptions): Promise<ProcessMachine> {
  const { machine, engineSocket, baseImage, engineNetwork } = choice
  const former = await readMachineNote(options.home)
  if (former.machine !== machine && (await anyRuns(former, options)))
    throw new OtherMachine(
      `agents of this folder run with SUPERSTEP_MACHINE=${former.machine}: stop them first, by Ctrl-C of a superstep up with that setting`,
    )
  await writeMachineNote(options.home, choice)
  if (machine === "process") return openProcessMachine(options)
  return openDockerMachine({ ...options, docker: { socketPath: engineSocket, baseImage, network: engineNetwork } })
}

async function anyRuns(former: MachineNote, { home, homeId }: ProcessMachineOptions): Promise<boolean> {
  const folders = machineFolders(home)
  if (former.machine === "process") return anyProcessRuns(folders)
  const units = foundDockerUnits(folders, homeId, former.engineSocket)
  const found = await Promise.all((await units.list()).map(units.status))
  return found.some(({ state }) => state === "running")
}

async function anyProcessRuns({ units }: MachineFolders): Promise<boolean> {
  for (const unitId of await readdir(units).catch(ifCode(missing, []))) {
    const identity = await readJson<ProcessIdentity>(join(units, unitId, "pid.json"))
    if (identity && (await isAlive(identity))) return true
  }
  return false
}

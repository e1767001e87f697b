/**
 * Which kind of machine has the units of a data folder, and how it is reached, for programs that look for them later: also with other settings
 * than those of the last start.
 */
import { join } from "node:path"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"

export interface MachineNote {
  /** The name of the kind. */
  readonly machine: string
  /** Set in a shared place: objects in the cluster carry this id, not the folder's. */
  readonly installationId?: string | undefined
  /** Values of the settings by which kinds are reached (`reachedBy`). */
  readonly [setting: string]: string | undefined
}

export const machineNoteFile = (home: string): string => join(home, "machine.json")

/** A folder without a note has processes. */
export const readMachineNote = async (home: string): Promise<MachineNote> =>
  (await readJson<MachineNote>(machineNoteFile(home))) ?? { machine: "process", engineSocket: "" }

export const writeMachineNote = (home: string, note: MachineNote): Promise<void> =>
  writeJson(machineNoteFile(home), note)

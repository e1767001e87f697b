/** Which kind of machine has the units of a data folder, for programs that look for them later. */
import { join } from "node:path"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"

export const machineKinds = ["process", "docker", "kubernetes"] as const

export interface MachineNote {
  readonly machine: (typeof machineKinds)[number]
  readonly engineSocket: string
  /** How the cluster of the units is reached. */
  readonly kubeconfig?: string | undefined
  readonly agentsNamespace?: string | undefined
  /** Set in a shared place: objects in the cluster carry this id, not the folder's. */
  readonly installationId?: string | undefined
}

export const machineNoteFile = (home: string): string => join(home, "machine.json")

/** A folder without a note has processes. */
export const readMachineNote = async (home: string): Promise<MachineNote> =>
  (await readJson<MachineNote>(machineNoteFile(home))) ?? { machine: "process", engineSocket: "" }

export const writeMachineNote = (
  home: string,
  { machine, engineSocket, kubeconfig, agentsNamespace, installationId }: MachineNote,
): Promise<void> =>
  writeJson(machineNoteFile(home), {
    machine,
    engineSocket,
    kubeconfig,
    agentsNamespace,
    installationId,
  } satisfies MachineNote)

/** Opens a machine of the chosen kind. */
import type { Values } from "@superstep/toolkit/config/settings"
import type { MachineOptions, OpenedMachine } from "../parts/compose-machine.js"
import { machineFolders } from "../parts/files/folders.js"
import { type MachineNote, machineNoteFile, readMachineNote, writeMachineNote } from "../port/machine-note.js"
import { kindOf, kinds, OtherMachine, settingsOfNote } from "./kinds.js"
import type { machineSettings } from "./settings.js"

export type { MachineOptions, OpenedMachine }

export type MachineChoice = Values<typeof machineSettings>

/** Whether units and edges are reached from several computers, so that several control planes may run. */
export const isShared = (choice: MachineChoice): boolean => kinds[choice.machine].isShared?.(choice) ?? false

/** @throws OtherMachine */
export async function openMachine(choice: MachineChoice, options: MachineOptions): Promise<OpenedMachine> {
  const note = noteOf(choice)
  await requireSameMachine(note, options)
  const opened = await kinds[choice.machine].open(choice, options)
  // Only now: a machine that does not open has started no unit.
  await writeMachineNote(options.home, { ...note, ...(isShared(choice) && { installationId: options.homeId }) })
  return opened
}

/** With the settings of all kinds: which of them count is a matter of the kind. */
function noteOf(choice: MachineChoice): MachineNote {
  const names = Object.values(kinds).flatMap(({ reachedBy }) => reachedBy)
  return { machine: choice.machine, ...Object.fromEntries(names.map((name) => [name, choice[name]])) }
}

type Installation = Pick<MachineOptions, "home" | "homeId" | "log" | "environment">

/** @throws OtherMachine  units run on the machine that the data folder was used with, and that is another one */
export async function requireSameMachine(
  choice: MachineNote,
  { home, homeId, log, environment }: Installation,
): Promise<void> {
  const former = await readMachineNote(home)
  if (await isSame(former, choice)) return
  const settings = Object.entries(settingsOfNote(former)).map((it) => it.join("="))
  const ofFormer = { folders: machineFolders(home), homeId: former.installationId ?? homeId }
  const input = { ...ofFormer, log, environment, toStop: false }
  const { place, anyRuns = () => anyFoundRuns(former, input) } = kindOf(former)
  const runs = await anyRuns(input).catch((cause: unknown) => {
    if (!place?.isAway(cause)) throw cause
    throw new OtherMachine(
      `agents of this folder ran with ${settings.join(" ")}, and that ${place.word} does not answer, so they may still run: start it. If it was removed for good, delete ${machineNoteFile(home)} and start again`,
      { cause },
    )
  })
  if (!runs) return
  throw new OtherMachine(
    `agents of this folder run with ${settings.join(" ")}: stop them first, by Ctrl-C of a superstep up with ${settings.length === 1 ? "that setting" : "these settings"}`,
  )
}

type FindInput = Parameters<ReturnType<typeof kindOf>["find"]>[0]

async function anyFoundRuns(note: MachineNote, input: FindInput): Promise<boolean> {
  const { units } = await kindOf(note).find(input, note)
  const found = await Promise.all((await units.list()).map(units.status))
  return found.some(({ state }) => state === "running")
}

async function isSame(one: MachineNote, other: MachineNote): Promise<boolean> {
  if (one.machine !== other.machine) return false
  const { reachedBy, isSamePlace } = kindOf(one)
  return isSamePlace ? isSamePlace(one, other) : reachedBy.every((name) => one[name] === other[name])
}

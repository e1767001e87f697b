/** The kinds of machines, a line for each. */
import type { Values } from "@superstep/toolkit/config/settings"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { dockerKind } from "../docker/kind.js"
import { kubernetesKind } from "../kubernetes/kind.js"
import type { MachineKind } from "../parts/machine-kind.js"
import type { MachineNote } from "../port/machine-note.js"
import { processKind } from "../process/kind.js"

const registered = {
  process: processKind,
  docker: dockerKind,
  kubernetes: kubernetesKind,
}

export type KindName = keyof typeof registered

type OfAll<T> = (T extends unknown ? (it: T) => void : never) extends (it: infer All) => void ? All : never
type SettingsOfKinds = OfAll<(typeof registered)[KindName]["settings"]>

export const settingsOfKinds: SettingsOfKinds = Object.assign(
  {},
  ...Object.values(registered).map(({ settings }) => settings),
)

export const kinds: Readonly<Record<KindName, MachineKind<Values<SettingsOfKinds>>>> = registered

export const kindNames = Object.keys(registered) as [KindName, ...KindName[]]

/** Units run, or may run, on another machine than the chosen one, which would start them again beside them. */
export class OtherMachine extends KnownError {
  readonly code = "other_machine"
}

/** @throws OtherMachine  another release, which has more kinds, used the data folder */
export function kindOf({ machine }: Pick<MachineNote, "machine">): MachineKind<Values<SettingsOfKinds>> {
  const name = kindNames.find((it) => it === machine)
  if (name === undefined) throw new OtherMachine(`agents of this folder ran on "${machine}", which this release lacks`)
  return kinds[name]
}

/** The settings of a start on the noted machine, as variables. */
export function settingsOfNote(note: MachineNote): Record<string, string> {
  const noted = kindOf(note).reachedBy.flatMap((name) => {
    const value = note[name]
    return value === undefined ? [] : [[settingsOfKinds[name].env, value] as const]
  })
  return { SUPERSTEP_MACHINE: note.machine, ...Object.fromEntries(noted) }
}

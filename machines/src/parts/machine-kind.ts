/** What a kind of machine says about itself. Its folder has a `kind.ts` with one of these, which `kinds/kinds.ts` registers. */
import type { Settings } from "@superstep/toolkit/config/settings"
import type { Log } from "@superstep/toolkit/log/log"
import type { MachineNote } from "../port/machine-note.js"
import type { Units } from "../port/port.js"
import type { MachineOptions, OpenedMachine } from "./compose-machine.js"
import type { MachineFolders } from "./files/folders.js"

/** @typeParam Choice  the values of its settings */
export interface MachineKind<Choice> {
  /** What agents run in, for the description of `SUPERSTEP_MACHINE`. */
  readonly units: string
  readonly settings: Settings
  /** The settings that lead to what runs there. The data folder notes their values. */
  readonly reachedBy: readonly (keyof Choice & string)[]
  open(choice: Choice, options: MachineOptions): Promise<OpenedMachine>
  /** Finds what an installation has there, for programs that start nothing. */
  find(input: FindInput, note: MachineNote): Promise<Found>
  /** Whether a unit runs; by default `find` says so. */
  anyRuns?(input: FindInput): Promise<boolean>
  /** Whether both lead to the same place; by default when `reachedBy` is equal. */
  isSamePlace?(one: MachineNote, other: MachineNote): Promise<boolean>
  /** The place where its units run, when it may be away while they run. */
  readonly place?: { readonly word: string; isAway(error: unknown): boolean }
  /** Whether units and edges are reached from several computers, so that several control planes may run. */
  isShared?(choice: Choice): boolean
  /** For `superstep doctor`: asks the place. @throws  what is missing there */
  describe?(choice: Choice, environment: NodeJS.ProcessEnv): Promise<string>
}

export interface FindInput {
  readonly folders: MachineFolders
  readonly homeId: string
  readonly log: Log
  /** Of this process: a program that signs in at a cluster is found by it. */
  readonly environment: NodeJS.ProcessEnv
  /** What is found will be stopped. */
  readonly toStop: boolean
}

export interface Found {
  /** They cannot be started. */
  readonly units: Pick<Units, "list" | "status" | "stop">
  stopBuilds(): Promise<void>
  /** Called when everything has stopped. */
  close?(): Promise<void>
}

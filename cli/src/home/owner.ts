/**
 * One program at a time runs on a data folder. `running.json` says who; a killed program's entry is taken over, along
 * with the child it left behind. A living one may pass the folder on (take-over.ts).
 */
import { rm } from "node:fs/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { identify, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import type { Home } from "./home.js"
import { createEntry, livingEntry, type Program, readEntry, removeDeadEntry, replaceEntry } from "./owner-file.js"

export class AlreadyRunning extends KnownError {
  readonly code = "already_running"
}

export interface Ownership extends AsyncDisposable {
  /** Notes the child, so that the next start can end it should this program be killed. */
  noteChild(child: ProcessIdentity): Promise<void>
  /** Notes that the installation is up. */
  noteUp(): Promise<void>
  /** Passes the folder on in one step: at no moment may a third program have it. */
  giveTo(successor: Program): Promise<void>
}

/** What a program tells of itself beside its process. */
export type About = Omit<Program, "owner" | "child" | "isUp">

/** @returns the entry of this process */
export async function thisProgram(about: About): Promise<Program> {
  const owner = await identify(process.pid)
  if (!owner) throw new Error("this process cannot be identified")
  return { ...about, owner }
}

/**
 * Takes the folder. A child of a killed owner is ended first, by a kill too: a control plane that is told to end may take
 * its agents along, and they are to go on. All our processes are made to be killed.
 * @throws AlreadyRunning  naming the program that has the folder
 */
export async function takeOwnership(home: Home, command: string, about?: Omit<About, "command">): Promise<Ownership> {
  const self = await thisProgram({ command, ...about })
  while (!(await createEntry(home.owner, self))) {
    if (await livingEntry(home.owner)) throw new AlreadyRunning(await occupied(home))
    const killed = await readEntry(home.owner)
    if (killed?.child) await stopProcess(killed.child, { graceMs: 0, signal: "SIGKILL" })
    await removeDeadEntry(home.owner, self)
  }
  return ownershipOf(home, self)
}

/** Of who is in the file by now. */
export function ownershipOf(home: Home, self: Program): Ownership {
  let entry = self
  let isOurs = true
  const change = async (more: Partial<Program>) => {
    entry = { ...entry, ...more }
    await replaceEntry(home.owner, entry)
  }
  return {
    noteChild: (child) => change({ child }),
    noteUp: () => change({ isUp: true }),
    giveTo: async (successor) => {
      isOurs = false
      await replaceEntry(home.owner, successor)
    },
    [Symbol.asyncDispose]: async () => {
      if (isOurs) await rm(home.owner, { force: true })
    },
  }
}

/** Tells whether a living program has the folder. */
export const isOwned = async (home: Home): Promise<boolean> => (await livingEntry(home.owner)) !== undefined

async function occupied(home: Home): Promise<string> {
  const { command, owner } = (await readEntry(home.owner)) ?? { command: "another program", owner: { pid: "?" } }
  const other = command === "superstep up" ? ", go on with it by superstep up --take-over" : ""
  return `${command} already runs on ${home.folder} (process ${owner.pid}): stop it first${other}, or choose another folder with --home`
}

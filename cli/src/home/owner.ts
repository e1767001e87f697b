/**
 * One program at a time runs on a data folder. `running.json` names it; a killed program's entry is taken over, along
 * with the child it left behind. A running one may pass the folder on (take-over.ts).
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
  /** Stores the child before its script starts (processes/child.ts), so that the next start can stop it if this program is killed. */
  noteChild(child: ProcessIdentity): Promise<void>
  /** Records that the installation is up. */
  noteUp(): Promise<void>
  /** Passes the folder on atomically: no third program can take it in between. */
  giveTo(successor: Program): Promise<void>
}

/** A program's entry, without its process. */
export type About = Omit<Program, "owner" | "child" | "isUp">

/** @returns the entry of this process */
export async function thisProgram(about: About): Promise<Program> {
  const owner = await identify(process.pid)
  if (!owner) throw new Error("the identity of this process cannot be read")
  return { ...about, owner }
}

/**
 * Takes the folder. First kills a child of a killed owner: a control plane that is stopped in order might stop its agents,
 * and they must keep running. All our processes survive kills. Its group goes with it: where root isolates deployments, the child
 * is the machine process, and its control plane has the port of the API.
 * @throws AlreadyRunning  naming the program that has the folder
 */
export async function takeOwnership(home: Home, command: string, about?: Omit<About, "command">): Promise<Ownership> {
  const self = await thisProgram({ command, ...about })
  while (!(await createEntry(home.owner, self))) {
    if (await livingEntry(home.owner)) throw new AlreadyRunning(await occupied(home))
    const killed = await readEntry(home.owner)
    if (killed?.child) await stopProcess(killed.child, { graceMs: 0, signal: "SIGKILL", group: true })
    await removeDeadEntry(home.owner, self)
  }
  return ownershipOf(home, self)
}

/** The ownership of the program that is in the file already. */
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

/** Returns whether a running program has the folder. */
export const isOwned = async (home: Home): Promise<boolean> => (await livingEntry(home.owner)) !== undefined

async function occupied(home: Home): Promise<string> {
  const { command, owner } = (await readEntry(home.owner)) ?? { command: "another program", owner: { pid: "?" } }
  const other = command === "superstep up" ? ", replace it with superstep up --take-over" : ""
  return `${command} is already running on ${home.folder} (process ${owner.pid}): stop it first${other}, or choose another folder with --home`
}

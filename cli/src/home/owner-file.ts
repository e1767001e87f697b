/** The file that names a program: the owner of the data folder, or the one that is taking it over. */
import { readFile, rm } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { createWhole, writeWhole } from "@superstep/toolkit/files/whole-file"

export interface Program {
  /** The command, as typed: `superstep up`. */
  readonly command: string
  readonly owner: ProcessIdentity
  /** Its version; entries of `superstep dev` and the like have none. */
  readonly release?: string
  /** Where `superstep up` listens, for a program that takes over. */
  readonly place?: Place
  /** The child process of the owner: the control plane or an agent server. */
  readonly child?: ProcessIdentity
  /** The API answers and agents can be reached. */
  readonly isUp?: boolean
}

/** Settings that agents and their clients rely on, so that another program on the same folder uses the same. */
export interface Place {
  readonly host: string
  readonly port: number
  readonly agentsPort: number
  readonly database: "embedded" | "DATABASE_URI"
}

/** @returns  false if it exists */
export const createEntry = (file: string, entry: Program): Promise<boolean> => createWhole(file, JSON.stringify(entry))

export const replaceEntry = (file: string, entry: Program): Promise<void> => writeWhole(file, JSON.stringify(entry))

export async function readEntry(file: string): Promise<Program | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Program
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

/** @returns  the program in the file, if it runs */
export async function livingEntry(file: string): Promise<Program | undefined> {
  const entry = await readEntry(file)
  return entry && (await isAlive(entry.owner)) ? entry : undefined
}

// How often a starter checks whether another one, which is taking the folder over, is done: it removes a file.
const pollMs = 20

/**
 * Removes the entry of a program that has ended. Between a check and a removal another starter could have put its own
 * there, so only the holder of the claim removes, and checks again first; the claim of a killed holder is removed likewise.
 */
export async function removeDeadEntry(file: string, self: Program): Promise<void> {
  const claim = `${file}.takeover`
  while (!(await createEntry(claim, self))) {
    const holder = await readEntry(claim)
    if (holder && !(await isAlive(holder.owner))) await removeDeadEntry(claim, self)
    else await sleep(pollMs)
  }
  try {
    const entry = await readEntry(file)
    if (entry && !(await isAlive(entry.owner))) await rm(file)
  } finally {
    await rm(claim)
  }
}

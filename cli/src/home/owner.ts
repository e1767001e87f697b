/**
 * One program at a time runs on a data folder. `running.json` says who; a killed program's entry is taken over, along
 * with the child it left behind.
 */
import { randomUUID } from "node:crypto"
import { link, readFile, rename, rm, writeFile } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import type { Home } from "./home.js"

interface Entry {
  readonly command: string
  readonly owner: ProcessIdentity
  /** The process that the owner runs: the control plane or an agent server. */
  readonly child?: ProcessIdentity
}

export class AlreadyRunning extends KnownError {
  readonly code = "already_running"
}

export interface Ownership extends AsyncDisposable {
  /** Notes the child, so that the next start can end it should this program be killed. */
  noteChild(child: ProcessIdentity): Promise<void>
}

/**
 * Takes the folder. A child of a killed owner is ended first, by a kill too: a control plane that is told to end may take
 * its agents along, and they are to go on. All our processes are made to be killed.
 * @throws AlreadyRunning  naming the program that has the folder
 */
export async function takeOwnership(home: Home, command: string): Promise<Ownership> {
  const self = await identify(process.pid)
  if (!self) throw new Error("this process cannot be identified")
  const entry: Entry = { command, owner: self }
  while (!(await create(home.owner, entry))) {
    const other = await readEntry(home.owner)
    if (other && (await isAlive(other.owner))) throw new AlreadyRunning(occupied(home, other))
    if (other?.child) await stopProcess(other.child, { graceMs: 0, signal: "SIGKILL" })
    await removeDead(home.owner, entry)
  }
  return {
    noteChild: (child) => replace(home.owner, { ...entry, child }),
    [Symbol.asyncDispose]: () => rm(home.owner, { force: true }),
  }
}

/** Tells whether a living program has the folder. */
export async function isOwned(home: Home): Promise<boolean> {
  const entry = await readEntry(home.owner)
  return entry !== undefined && isAlive(entry.owner)
}

const occupied = (home: Home, { command, owner }: Entry): string =>
  `${command} already runs on ${home.folder} (process ${owner.pid}): stop it first, or choose another folder with --home`

// How often a starter looks whether another one, who takes the folder over, is done: it removes a file.
const pollMs = 20

/**
 * Removes the entry of a program that has ended. Between a look and a removal another starter could have put its own
 * there, so only who holds the claim removes, and looks again first; a claim whose holder was killed is removed likewise.
 */
async function removeDead(file: string, self: Entry): Promise<void> {
  const claim = `${file}.takeover`
  while (!(await create(claim, self))) {
    const holder = await readEntry(claim)
    if (holder && !(await isAlive(holder.owner))) await removeDead(claim, self)
    else await sleep(pollMs)
  }
  try {
    const entry = await readEntry(file)
    if (entry && !(await isAlive(entry.owner))) await rm(file)
  } finally {
    await rm(claim)
  }
}

/** Writes a draft and links it to the name, so that the file is whole from its first moment. */
async function create(file: string, entry: Entry): Promise<boolean> {
  const draft = `${file}.${randomUUID()}`
  await writeFile(draft, JSON.stringify(entry))
  try {
    await link(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    return false
  } finally {
    await rm(draft, { force: true })
  }
}

async function replace(file: string, entry: Entry): Promise<void> {
  const draft = `${file}.${randomUUID()}`
  await writeFile(draft, JSON.stringify(entry))
  await rename(draft, file)
}

async function readEntry(file: string): Promise<Entry | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Entry
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

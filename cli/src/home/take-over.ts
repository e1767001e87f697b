/**
 * One `superstep up` takes the data folder over from another, which runs: that of a newer release, say. Agents, the edge
 * and Postgres go on; only the control plane is another (docs/decisions/0012).
 * H1 The taker claims its turn in `running.json.next`, for as long as it takes to be up: of two, one is told.
 * H2 The owner is asked by SIGUSR2. It ends its control plane, leaves all else, and puts the taker into `running.json` by a
 *    rename, so nobody can come in between.
 * H3 The former owner stays until the taker is up. When that ends before, it has the folder back and goes on as before.
 * H4 An owner that is killed meanwhile, or that knows no such signal and ends by it, is followed as any killed one is.
 */
import { rm } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import type { Home } from "./home.js"
import { type About, AlreadyRunning, type Ownership, ownershipOf, takeOwnership, thisProgram } from "./owner.js"
import { createEntry, livingEntry, type Program, readEntry, removeDeadEntry } from "./owner-file.js"

/** Asks a program of ours to leave what it runs to another one. */
export const takeOverSignal = "SIGUSR2"

export class TakeOverUnderWay extends KnownError {
  readonly code = "take_over_under_way"
}

/** The program that has the folder does not give it up. */
export class NoAnswer extends KnownError {
  readonly code = "no_answer"
}

const pollMs = 20
// Its control plane has ten seconds for an end in order, and a start that is under way goes to its end first.
const patienceMs = 60_000

const claimFile = (home: Home): string => `${home.owner}.next`

/**
 * Takes the folder from the `superstep up` that has it; where nobody has it, this is an ordinary start.
 * @throws TakeOverUnderWay  another program does the same at this moment
 * @throws AlreadyRunning    what has the folder is no `superstep up`
 * @throws NoAnswer          the owner does not react; it keeps the folder
 */
export async function takeOver(home: Home, about: About): Promise<Ownership> {
  const self = await thisProgram(about)
  await claimTurn(home, self)
  try {
    const ownership = (await askForFolder(home, self)) ?? (await takeOwnership(home, about.command, about))
    return {
      ...ownership,
      noteUp: async () => {
        await ownership.noteUp()
        await rm(claimFile(home), { force: true })
      },
      [Symbol.asyncDispose]: async () => {
        await ownership[Symbol.asyncDispose]()
        await withdraw(home, self)
      },
    }
  } catch (error) {
    await withdraw(home, self)
    throw error
  }
}

async function claimTurn(home: Home, self: Program): Promise<void> {
  while (!(await createEntry(claimFile(home), self))) {
    const other = await livingEntry(claimFile(home))
    if (other)
      throw new TakeOverUnderWay(`process ${other.owner.pid} takes ${home.folder} over already: let it come up`)
    await removeDeadEntry(claimFile(home), self)
  }
}

async function withdraw(home: Home, { owner }: Program): Promise<void> {
  const claim = await readEntry(claimFile(home))
  if (claim && isSame(claim.owner, owner)) await rm(claimFile(home), { force: true })
}

/** @returns undefined when there is no living owner, or none any more */
async function askForFolder(home: Home, self: Program): Promise<Ownership | undefined> {
  const former = await livingEntry(home.owner)
  if (!former) return undefined
  const { command, owner } = former
  if (command !== self.command)
    throw new AlreadyRunning(`${command} runs on ${home.folder} (process ${owner.pid}), which cannot be taken over`)
  process.kill(owner.pid, takeOverSignal)
  const deadline = performance.now() + patienceMs
  while (performance.now() < deadline) {
    const entry = await readEntry(home.owner)
    if (entry && isSame(entry.owner, self.owner)) return ownershipOf(home, self)
    if (!entry || !(await isAlive(entry.owner))) return undefined
    await sleep(pollMs)
  }
  throw new NoAnswer(`${command} (process ${owner.pid}) does not give ${home.folder} up: its agents go on
  if it hangs, end it by kill -9 ${owner.pid}, which leaves them alone, and start superstep up`)
}

/** @returns who is about to take over, if somebody is */
export async function successorOf(home: Home): Promise<Program | undefined> {
  const claim = await livingEntry(claimFile(home))
  return claim && claim.owner.pid !== process.pid ? claim : undefined
}

/**
 * Gives the folder away and waits for what becomes of it (H3).
 * @returns who has it for good, or undefined when nobody has: then it may be taken back
 */
export async function handOver(home: Home, ownership: Ownership, successor: Program): Promise<Program | undefined> {
  await ownership.giveTo(successor)
  for (;;) {
    const entry = await livingEntry(home.owner)
    if (!entry) return undefined
    // A third one has followed the successor, which was up then.
    if (entry.isUp || !isSame(entry.owner, successor.owner)) return entry
    await sleep(pollMs)
  }
}

const isSame = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.pid === b.pid && a.startTicks === b.startTicks && a.bootId === b.bootId

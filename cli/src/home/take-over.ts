/**
 * One `superstep up` takes the data folder over from another running one, for example for a newer release. Agents, the edge
 * and Postgres keep running; only the control plane is replaced (docs/decisions/0012).
 * H1 The taker claims its turn in `running.json.next`, until it is up: of two takers, one gets an error.
 * H2 The owner is asked by SIGUSR2. It stops its control plane, leaves everything else, and puts the taker into `running.json`
 *    by a rename, so that no other program can come in between.
 * H3 The former owner waits until the taker is up. If the taker exits before, the owner takes the folder back and continues.
 * H4 An owner that is killed meanwhile, or exits because it does not handle the signal, is treated as any killed owner.
 */
import { rm } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import type { Home } from "./home.js"
import { type About, AlreadyRunning, type Ownership, ownershipOf, takeOwnership, thisProgram } from "./owner.js"
import { createEntry, livingEntry, type Program, readEntry, removeDeadEntry } from "./owner-file.js"

/** The signal that asks a program of ours to leave its processes to another one. */
export const takeOverSignal = "SIGUSR2"

export class TakeOverUnderWay extends KnownError {
  readonly code = "take_over_under_way"
}

/** The owner of the folder does not hand it over. */
export class NoAnswer extends KnownError {
  readonly code = "no_answer"
}

const pollMs = 20
// Its control plane has ten seconds for an orderly stop, and a start under way is completed first.
const patienceMs = 60_000

const claimFile = (home: Home): string => `${home.owner}.next`

/**
 * Takes the folder from the `superstep up` that has it; without an owner, this is an ordinary start.
 * @throws TakeOverUnderWay  another program is taking it over
 * @throws AlreadyRunning    the owner is no `superstep up`
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
      throw new TakeOverUnderWay(
        `process ${other.owner.pid} is already taking over ${home.folder}: wait until it has started`,
      )
    await removeDeadEntry(claimFile(home), self)
  }
}

async function withdraw(home: Home, { owner }: Program): Promise<void> {
  const claim = await readEntry(claimFile(home))
  if (claim && isSame(claim.owner, owner)) await rm(claimFile(home), { force: true })
}

/** @returns  undefined when no owner runs, or none any more */
async function askForFolder(home: Home, self: Program): Promise<Ownership | undefined> {
  const former = await livingEntry(home.owner)
  if (!former) return undefined
  const { command, owner } = former
  if (command !== self.command)
    throw new AlreadyRunning(
      `${command} is running on ${home.folder} (process ${owner.pid}) and cannot be taken over: stop it first`,
    )
  process.kill(owner.pid, takeOverSignal)
  const deadline = performance.now() + patienceMs
  while (performance.now() < deadline) {
    const entry = await readEntry(home.owner)
    if (entry && isSame(entry.owner, self.owner)) return ownershipOf(home, self)
    if (!entry || !(await isAlive(entry.owner))) return undefined
    await sleep(pollMs)
  }
  throw new NoAnswer(`${command} (process ${owner.pid}) does not hand over ${home.folder}: its agents keep running
  if it hangs, end it by kill -9 ${owner.pid}, which leaves them alone, and start superstep up`)
}

/** @returns  the program that is taking over, if there is one */
export async function successorOf(home: Home): Promise<Program | undefined> {
  const claim = await livingEntry(claimFile(home))
  return claim && claim.owner.pid !== process.pid ? claim : undefined
}

/**
 * Gives the folder away and waits for the result (H3).
 * @returns  the program that has it for good, or undefined when there is none: then it may be taken back
 */
export async function handOver(home: Home, ownership: Ownership, successor: Program): Promise<Program | undefined> {
  await ownership.giveTo(successor)
  for (;;) {
    const entry = await livingEntry(home.owner)
    if (!entry) return undefined
    // A third program has followed the successor, which was up then.
    if (entry.isUp || !isSame(entry.owner, successor.owner)) return entry
    await sleep(pollMs)
  }
}

const isSame = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.pid === b.pid && a.startTicks === b.startTicks && a.bootId === b.bootId

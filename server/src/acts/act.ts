/** What a person did to a thread, and what a person without the right to approve may not do (decision 94). Pure. */
import type { Person } from "@superstep/protocol/http/person"
import { Forbidden } from "@superstep/toolkit/errors/errors"
import type { Caller } from "../auth/caller.js"

/** run: started a run. answer: started one that answers what another asked, or goes on from where it stopped. edit: changed the state. */
export type ActKind = "run" | "answer" | "edit"

export interface NewAct {
  readonly kind: ActKind
  readonly person: Person
  readonly threadId: string
  /** The run that was started, or the checkpoint that was made. */
  readonly of: { readonly runId: string } | { readonly checkpointId: string }
  /** Of an edit: the names of the values that it gave. */
  readonly changed?: readonly string[] | undefined
}

// A graph's state has a few values; the names are for people.
const mostNamed = 50

/** The names of the values that updates of a state give; undefined where one is no object. */
export function namesOf(values: readonly unknown[]): string[] | undefined {
  const isNamed = values.every((each) => typeof each === "object" && each !== null && !Array.isArray(each))
  return isNamed ? [...new Set(values.flatMap((each) => Object.keys(each as object)))].slice(0, mostNamed) : undefined
}

/** The parts of a run's request that decide whether it goes on from where its thread stopped. */
export interface AskedRun {
  readonly input?: unknown
  readonly command?: object | null | undefined
  readonly interrupt_before?: unknown
  readonly interrupt_after?: unknown
}

const isNothing = (value: unknown): boolean => value === undefined || value === null

/** A run without input goes on from the thread's checkpoint, past a breakpoint too; a command answers, or moves the graph elsewhere. */
export const goesOn = ({ input, command }: AskedRun): boolean => !isNothing(command) || isNothing(input)

/** A list of breakpoints replaces the graph's own. */
const movesBreakpoints = ({ interrupt_before: before, interrupt_after: after }: AskedRun): boolean =>
  [before, after].some((nodes) => !isNothing(nodes) && nodes !== "*")

/** @throws Forbidden  the caller may only start runs, and this one would go on where its thread waits for an answer */
export function requireRightToRun(caller: Caller, run: AskedRun): void {
  if (goesOn(run) || movesBreakpoints(run))
    requireApproval(caller, "a run without input, with a command or with breakpoints")
}

/** @param what  what was asked for, for the message @throws Forbidden */
export function requireApproval({ seen }: Caller, what: string): void {
  if (seen === undefined || seen.mayApprove) return
  throw new Forbidden(
    `${what} requires the role approve: your role may only start runs with an input`,
    "approval_required",
  )
}

/** What a person did to a thread, and what a person without the right to approve may not do (decision 94). Pure. */
import type { Person } from "@superstep/protocol/http/person"
import { Forbidden } from "@superstep/toolkit/errors/errors"
import { storableText } from "@superstep/toolkit/text/storable"
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
const longestName = 200

/** The names of the values that updates of a state give, long ones cut; undefined where one is no object. */
export function namesOf(values: readonly unknown[]): string[] | undefined {
  const isNamed = values.every((each) => typeof each === "object" && each !== null && !Array.isArray(each))
  if (!isNamed) return undefined
  const names = new Set(values.flatMap((each) => Object.keys(each as object)))
  return [...names].slice(0, mostNamed).map((name) => storableText(name, longestName))
}

/** @param what  what was asked for, for the message @throws Forbidden */
export function requireApproval({ seen }: Caller, what: string): void {
  if (seen === undefined || seen.mayApprove) return
  throw new Forbidden(
    `${what} requires the role approve: your role may only start runs with an input`,
    "approval_required",
  )
}

/**
 * Finds what happened on a thread and is not in the hook's messages. While the hook is idle it follows no run that another client
 * starts (@langchain/react 1.1): the page then makes it read the thread again, which joins the run or loads its result.
 */
import { useCallback, useEffect, useRef, useState } from "react"
import { areMessages, type RawMessage } from "../messages/messages.js"
import type { Activity } from "./activity.js"

interface Saved {
  /** The newest checkpoint. */
  readonly head: string | undefined
  /** Its messages. */
  readonly saved: unknown
}

/** @returns  the id of the run or of the checkpoint that an idle hook misses; undefined if it misses nothing */
export function unseen(
  activity: Activity,
  messages: readonly RawMessage[],
  { head, saved }: Saved,
): string | undefined {
  if (activity.status === "running") return activity.runId
  const shown = new Set(messages.map(({ id }) => id))
  return areMessages(saved) && saved.some(({ id }) => id !== undefined && !shown.has(id)) ? head : undefined
}

// Long enough for the hook to report a run of its own.
const patienceMs = 600

/** Calls `startAgain` if something stays unseen, once for each run or checkpoint, so that it cannot loop. */
export function useStartAgain(cause: string | undefined, startAgain: () => void): void {
  const causes = useRef(new Set<string>())
  useEffect(() => {
    if (cause === undefined || causes.current.has(cause)) return undefined
    const waiting = setTimeout(() => {
      causes.current.add(cause)
      startAgain()
    }, patienceMs)
    return () => clearTimeout(waiting)
  }, [cause, startAgain])
}

/** @returns  a number, and a function that raises it */
export function useEpoch(): { readonly epoch: number; readonly startAgain: () => void } {
  const [epoch, setEpoch] = useState(0)
  return { epoch, startAgain: useCallback(() => setEpoch((present) => present + 1), []) }
}

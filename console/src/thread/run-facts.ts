/**
 * Whether a run of the thread is under way, and how the last one ended. The server decides; what the page has seen of the stream counts
 * only where it is newer than what the server was asked. The official hook cannot tell: to it every state in which nodes come next is
 * loading (@langchain/react 1.1), also the one that a failed run leaves. Pure.
 */
import { type Explained, explainedOf } from "../requests/explained.js"
import type { Activity } from "./activity.js"

/** The newest run of a thread, of `GET /threads/{id}/runs`. */
export interface LastRun {
  readonly run_id: string
  readonly status: string
  readonly created_at: string
  readonly error?: { readonly error: string; readonly message: string; readonly doc_url?: string } | null
  readonly kwargs?: Readonly<Record<string, unknown>> | null
}

/** What the server says of a thread: both were read together. */
export interface ThreadFacts {
  /** `idle`, `busy`, `interrupted`, `error`. */
  readonly threadStatus: string
  readonly lastRun: LastRun | undefined
}

export function isUnderWay({ threadStatus, lastRun }: ThreadFacts, activity: Activity): boolean {
  const isBusy = threadStatus === "busy"
  if (activity.status === "idle") return isBusy
  if (activity.status === "running") return isBusy || !hasEnded(lastRun, activity.runId)
  // The end of a run is seen before the thread is read again: only a later run makes the thread busy then.
  return isBusy && isLater(lastRun, activity.runId)
}

/** Whether the run, or a later one, has ended for the server. */
const hasEnded = (lastRun: LastRun | undefined, runId: string | undefined): boolean =>
  lastRun !== undefined && (lastRun.run_id === runId || isLater(lastRun, runId)) && !isOpen(lastRun)

// Ids of runs begin with the time.
const isLater = (lastRun: LastRun | undefined, runId: string | undefined): boolean =>
  lastRun !== undefined && (runId === undefined || lastRun.run_id > runId)

const isOpen = ({ status }: LastRun): boolean => status === "pending" || status === "running"
const isFailed = ({ status }: LastRun): boolean => status === "error" || status === "timeout"

/** @returns  the run that the page's link leads to */
export const shownRunId = ({ lastRun }: ThreadFacts, { runId }: Activity): string | undefined =>
  isLater(lastRun, runId) ? lastRun?.run_id : runId

export interface Failure {
  readonly text: string
  /** Of a run that the platform ended. */
  readonly explained?: Explained | undefined
}

/** @returns  why the last run failed, if it did and nothing has been done about it */
export function failureOf({ threadStatus, lastRun }: ThreadFacts, activity: Activity): Failure | undefined {
  const isOlder = lastRun === undefined || (activity.runId !== undefined && lastRun.run_id < activity.runId)
  if (isOlder || (lastRun.run_id === activity.runId && isOpen(lastRun)))
    return activity.status === "failed" && activity.error !== undefined ? { text: activity.error } : undefined
  // An edited state is one that somebody has gone on from: then the thread is idle.
  if (!isFailed(lastRun) || threadStatus === "idle") return undefined
  const { error = "", message = "", doc_url } = lastRun.error ?? {}
  const text = [error === "Error" ? "" : error, message].filter((part) => part !== "").join(": ")
  return { text: text || "The run failed, and its error has no text.", explained: explainedOf(error, doc_url) }
}

/** @returns  the status that the page shows for a thread on which no run is under way */
export function statusAtRest({ threadStatus }: ThreadFacts, isFailure: boolean, asks: boolean): string {
  if (asks) return "interrupted"
  if (isFailure) return "error"
  return threadStatus === "busy" ? "idle" : threadStatus
}

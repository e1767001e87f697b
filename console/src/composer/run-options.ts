/**
 * What a person has set for the runs that this page starts on a thread. No other client uses it. The tab remembers it until it is
 * closed or its person signs out: a context often has keys of other services, which must not stay in the lasting storage of the browser.
 */
import { useState } from "react"
import { hasInvalid } from "../schema-form/value.js"

export interface RunOptions {
  /** Nodes of the graph that runs stop before, and after. */
  readonly breakBefore: readonly string[]
  readonly breakAfter: readonly string[]
  /** Over those of the assistant; undefined for its own. */
  readonly context?: unknown
  readonly config?: unknown
}

export const noOptions: RunOptions = { breakBefore: [], breakAfter: [] }

/** The fields of `POST /threads/{id}/runs`, as the SDK names them. */
export const requestOf = ({ breakBefore, breakAfter, context, config }: RunOptions) => ({
  ...(breakBefore.length > 0 && { interruptBefore: [...breakBefore] }),
  ...(breakAfter.length > 0 && { interruptAfter: [...breakAfter] }),
  ...(context !== undefined && { context: context as object }),
  ...(config !== undefined && { config: config as object }),
})

/** @returns  why no run can be started with the options */
export const problemOf = ({ context, config }: RunOptions): string | undefined =>
  [context, config].some(hasInvalid) ? "Correct the configuration first." : undefined

/** The part of the browser's storage that is used here. */
export type Storage = Pick<globalThis.Storage, "getItem" | "setItem">

const key = "superstep.run-options"
// Of the threads that were changed last: a browser keeps some megabytes for a tab.
export const mostThreads = 100

type Stored = readonly (readonly [thread: string, options: RunOptions])[]

function readAll(storage: Storage): Stored {
  try {
    const stored: unknown = JSON.parse(storage.getItem(key) ?? "[]")
    return Array.isArray(stored) ? (stored as Stored) : []
  } catch {
    // Something else has written there: it is replaced by the next change.
    return []
  }
}

/** @param thread  unique among all agents, such as `<agent's address>/<thread id>` */
export const readOptions = (storage: Storage, thread: string): RunOptions => ({
  ...noOptions,
  ...readAll(storage).find(([name]) => name === thread)?.[1],
})

export function writeOptions(storage: Storage, thread: string, options: RunOptions): void {
  const others = readAll(storage).filter(([name]) => name !== thread)
  storage.setItem(key, JSON.stringify([[thread, options], ...others].slice(0, mostThreads)))
}

export interface RunOptionsState {
  readonly options: RunOptions
  readonly change: (change: Partial<RunOptions>) => void
}

export function useRunOptions(thread: string): RunOptionsState {
  const [options, setOptions] = useState(() => readOptions(sessionStorage, thread))
  const change = (change: Partial<RunOptions>) => {
    const next = { ...options, ...change }
    setOptions(next)
    writeOptions(sessionStorage, thread, next)
  }
  return { options, change }
}

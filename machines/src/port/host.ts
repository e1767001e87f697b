/** What the control plane gets from the computer that it runs on, in its own process or in one with more rights. */
import type { Edge } from "@superstep/edge/port"
import type { Machine } from "./port.js"

/** `operator`: the file that a setting names. `present`, `next`: those of the data folder. */
export type KeyFile = "operator" | "present" | "next"

/** The files of the master key, which belong to whoever owns the data folder. */
export interface KeyFiles {
  /** Its text; undefined when there is no such file. */
  read(file: KeyFile): Promise<string | undefined>
  /** Writes the first key atomically and to disk. Fails when there is one. */
  writeFirst(text: string): Promise<void>
  /** Replaces the present key by the next one. */
  promoteNext(): Promise<void>
  removeNext(): Promise<void>
}

export interface Host extends Machine {
  readonly edge: Edge
  /** Where the master key is stored. */
  readonly keyFiles: KeyFiles
  /**
   * Takes requests of the edge to wake a deployment.
   * @returns  a function that ends it
   */
  listenForWakeCalls(wake: (deploymentId: string) => Promise<unknown>): Promise<() => Promise<void>>
  /** Stops all builds and units, then the edge. */
  stopAll(graceMs: number): Promise<void>
}

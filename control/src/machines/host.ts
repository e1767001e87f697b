/** What the control plane gets from the computer that it runs on, in its own process or in one with more rights. */
import type { Edge } from "@superstep/edge/port"
import type { KeyFiles } from "../home/key-files.js"
import type { Machine } from "./port.js"

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

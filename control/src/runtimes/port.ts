/**
 * Where units run. The pipeline and the reconciler call these as often as crashes make it; each is safe to repeat, and
 * what they say is read from the machine each time, so nothing is lost with the memory of a control plane.
 *
 * R1 `start` twice is one unit. R2 a started unit lives on when the control plane dies, and is found again.
 * R3 a unit that has ended is reported as such, and may be started again under the same id and address.
 * R4 its environment is exactly what `unit-environment.ts` makes of its spec, without a secret in it.
 * R5 `stop` and `remove` are fine twice, and leave nothing. R6 its output is kept in order and survives it.
 */
import type { Secret } from "@superstep/toolkit/config/settings"

/** One running copy of a revision's agent server, before it runs. */
export interface UnitSpec {
  readonly unitId: string
  readonly deploymentId: string
  readonly revisionId: string
  /** The published tree, and `langgraph.json` in it. */
  readonly artifactFolder: string
  readonly configPath: string
  /** The Node that the artefact was built for. */
  readonly nodePath: string
  /** Names the unprivileged user of the deployment. */
  readonly uidOffset: number
  /** What every request to it must carry. */
  readonly token: Secret
  readonly databaseUri: Secret
  /** How many connections its pool may have. */
  readonly poolSize: number
  /** The environment of the user's code: what `langgraph.json` sets, overlaid by the deployment's secrets. */
  readonly agentEnv: Readonly<Record<string, Secret>>
  /** The limit of JavaScript's heap is derived from it. */
  readonly memoryMb: number | undefined
  /** What all its processes may use together; undefined for no limit. Held to as far as the machine allows. */
  readonly limits: { readonly memoryMb: number | undefined; readonly cpu: number | undefined }
}

export type UnitStatus =
  | { readonly state: "running"; readonly pid: number }
  /** It was started and has ended by itself, or because it wanted more memory than its limit, in megabytes. */
  | { readonly state: "exited"; readonly ranOutOfMb?: number }
  /** It was never started, or it was stopped. */
  | { readonly state: "absent" }

export interface UnitLogs {
  /** Whole lines; of a unit that has ended also what it printed last, without an end. */
  readonly lines: readonly string[]
  /** Where the next reading begins, in bytes. */
  readonly next: number
}

export interface Runtime {
  /** Returns when the unit's process runs, which is long before it is ready. */
  start(spec: UnitSpec): Promise<void>
  status(unitId: string): Promise<UnitStatus>
  /** The Unix socket that the unit answers on; the same for all its lives. */
  socketPath(unitId: string): string
  /** @param from  0, or `next` of the last reading */
  logs(unitId: string, from: number): Promise<UnitLogs>
  /** A word that changes with the unit's output: as long as it is the same, nothing was printed. One `stat`. */
  logMark(unitId: string): Promise<string>
  /**
   * Calls `onOutput` soon after the unit has printed; it may call too often.
   * @returns a function that ends it; undefined when it cannot be watched yet, or not on this machine
   */
  watchLogs(unitId: string, onOutput: () => void): (() => void) | undefined
  /**
   * Forgets the unit's output so far; what it prints from now on begins at 0.
   * @param read  how much of it is known: with more than that nothing is forgotten
   * @returns     whether it was
   */
  forgetLogs(unitId: string, read: number): Promise<boolean>
  /**
   * What each unit's processes use, in megabytes. Those that do not run, or cannot be looked at, are left out; and those
   * that the kernel holds to their limit, since nobody else has to look.
   */
  memoryMb(unitIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Ends it with all its processes at once, as a crash would: it is then `exited`. */
  kill(unitId: string): Promise<void>
  /** Ends it; what it has not finished after `graceMs` is cut. */
  stop(unitId: string, options: { readonly graceMs: number }): Promise<void>
  /** Deletes all traces of a unit that is stopped. */
  remove(unitId: string): Promise<void>
  /** Every unit that has traces here, running or not. */
  list(): Promise<string[]>
}

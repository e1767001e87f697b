/** What tests need of the machine that agents run on. They see the differences between machines here, and nowhere else. */

export interface RunningUnit {
  readonly unitId: string
  /** Another one after each start. */
  readonly life: string
}

/** The machine of one installation. */
export interface MachineOfTests {
  /** Units that run at this moment. */
  running(): Promise<readonly RunningUnit[]>
  /** Units that were not removed: those that run, and those that sleep. */
  present(): Promise<readonly string[]>
  /** Ends all processes of a running unit at once, without the control plane. */
  kill(unit: RunningUnit): Promise<void>
  /** What of the installation is left in the engine or cluster. */
  leftovers(): Promise<readonly string[]>
}

/** With `superstep up`, which has its agents there. */
export interface MachineOfLocalPlatform extends MachineOfTests {
  /** Settings of `superstep up`. */
  readonly env: Readonly<Record<string, string>>
}

/** What the steps of a build are given. */
import type { WriteLine } from "./build-log.js"
import type { BuildRequest } from "./build-request.js"
import type { Confinement } from "./confinement.js"
import type { StepRoom } from "./step-watch.js"

export interface BuildContext {
  /** Told each step's process, as soon as it runs. */
  readonly onStart: (pid: number) => void
  readonly request: BuildRequest
  /** The deployment's variables: graphs are loaded with them, install and build commands never see them. */
  readonly agentEnv: Readonly<Record<string, string>>
  readonly writeLine: WriteLine
  readonly signal: AbortSignal
}

/** What a step needs beside. */
export interface BuildInput extends BuildContext {
  readonly confinement: Confinement
  readonly room: StepRoom
}

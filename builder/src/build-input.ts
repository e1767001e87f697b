/** The input of the steps of a build. */
import type { WriteLine } from "./build-log.js"
import type { BuildRequest } from "./build-request.js"
import type { Confinement } from "./confinement.js"
import type { StepRoom } from "./step-watch.js"

export interface BuildContext {
  /** Called with each step's process id as soon as it runs. */
  readonly onStart: (pid: number) => void
  readonly request: BuildRequest
  /** The deployment's variables: graphs are loaded with them; install and build commands never see them. */
  readonly agentEnv: Readonly<Record<string, string>>
  readonly writeLine: WriteLine
  readonly signal: AbortSignal
}

/** The further input of one step. */
export interface BuildInput extends BuildContext {
  readonly confinement: Confinement
  readonly room: StepRoom
}

/**
 * A cancel that comes before the graph has applied the run's input waits for that: an acknowledged input is saved before its run
 * stops (W11). An answer to an interrupt is not waited for, since it is saved with the result of the node that asked.
 */
import type { RunRequest } from "./run-request.js"

// A graph applies its input as soon as it is made. A factory that takes longer is not waited for.
const maxWaitMs = 5_000

export class EarlyCancel {
  readonly #stop: () => void
  #isInputSaved: boolean
  #timer: NodeJS.Timeout | undefined

  /** @param stop  stops the run; called at most once for each cancel, and never before the input is saved or the wait is over */
  constructor({ input, command }: Pick<RunRequest, "input" | "command">, stop: () => void) {
    this.#stop = stop
    const changesState = (command?.update ?? command?.goto ?? undefined) !== undefined
    this.#isInputSaved = (input ?? undefined) === undefined && !changesState
  }

  cancel(): void {
    if (this.#isInputSaved) this.#stop()
    else this.#timer ??= setTimeout(this.#stop, maxWaitMs)
  }

  /** LangGraph applies the input now, and asks for its checkpoint in the same turn of the event loop. */
  inputApplied(): void {
    if (this.#isInputSaved) return
    this.#isInputSaved = true
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    setImmediate(this.#stop)
  }

  /** Called when the run is over. */
  end(): void {
    clearTimeout(this.#timer)
  }
}

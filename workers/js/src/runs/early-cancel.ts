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
  readonly #hasInput: boolean
  #waitsForStep = false
  #timer: NodeJS.Timeout | undefined

  /** @param stop  stops the run; called at most once for each cancel, and never before the input is saved or the wait is over */
  constructor({ input, command }: Pick<RunRequest, "input" | "command">, stop: () => void) {
    this.#stop = stop
    const changesState = (command?.update ?? command?.goto ?? undefined) !== undefined
    this.#hasInput = (input ?? undefined) !== undefined && (command ?? undefined) === undefined
    this.#isInputSaved = (input ?? undefined) === undefined && !changesState
  }

  cancel(): void {
    if (this.#isInputSaved) this.#stop()
    else this.#timer ??= setTimeout(this.#stop, maxWaitMs)
  }

  /**
   * A graph whose first step, `__start__`, moves the input into the state. With the durability `sync` it waits before that step, and
   * the next input would replace what is only in the checkpoint of the input. Otherwise both are in one turn of the event loop.
   */
  waitForFirstStep(): void {
    this.#waitsForStep = this.#hasInput
  }

  /** LangGraph applies the input now, and asks for its checkpoint in the same turn of the event loop. */
  inputApplied(): void {
    if (!this.#waitsForStep) this.#saved()
  }

  /** LangGraph asks for a checkpoint in this turn of the event loop. */
  checkpointAsked({ source }: Readonly<Record<string, unknown>>): void {
    if (this.#waitsForStep && source !== "input") this.#saved()
  }

  #saved(): void {
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

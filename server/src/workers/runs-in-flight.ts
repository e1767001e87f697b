/** The runs that one worker executes, by claim: a run's earlier attempt may still be ending while the new one executes. */
import type { DoneFrame } from "@superstep/protocol/worker/frames"
import { reportedFailure } from "./error-codes.js"
import type { LostReason, RunListener, RunOrder, TracePart } from "./port.js"

interface RunInFlight {
  readonly runId: string
  readonly listener: RunListener
  /** Whether the worker was asked to send no events of the run. */
  isPaused: boolean
}

/** Each run leaves exactly once: done, lost, or given up. Frames of other runs are dropped (P1). */
export class RunsInFlight {
  readonly #runs = new Map<string, RunInFlight>()
  /** Claims that are over for the server, while their code may still execute here. */
  readonly #lingering = new Set<string>()
  readonly #onLeave: () => void
  #hadAny = false

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  get size(): number {
    return this.#runs.size
  }

  /** Whether the worker has exactly one run, and no run that is over for the server but may still execute. */
  get isOneAlone(): boolean {
    return this.#runs.size === 1 && this.#lingering.size === 0
  }

  /** Whether the worker has a run, or one that is over for the server but may still execute. */
  get isBusy(): boolean {
    return this.#runs.size > 0 || this.#lingering.size > 0
  }

  /** Whether the worker ever had a run. */
  get hadAny(): boolean {
    return this.#hadAny
  }

  add({ runId, claimId }: RunOrder, listener: RunListener): void {
    this.#hadAny = true
    this.#runs.set(claimId, { runId, listener, isPaused: false })
  }

  /** The id of a claim's run, while the run executes here. */
  runOf(claimId: string): string | undefined {
    return this.#runs.get(claimId)?.runId
  }

  /** @returns a promise to wait for before the worker sends more events of this run */
  event(claimId: string, event: string, data: Buffer): Promise<void> | undefined {
    return this.#runs.get(claimId)?.listener.onEvent(event, data)
  }

  spans(claimId: string, part: TracePart): void {
    this.#runs.get(claimId)?.listener.onSpans(part)
  }

  /** @returns whether this changed the state of a run that executes here */
  setPaused(claimId: string, isPaused: boolean): boolean {
    const run = this.#runs.get(claimId)
    if (run === undefined || run.isPaused === isPaused) return false
    run.isPaused = isPaused
    return true
  }

  done(frame: DoneFrame, [values, interrupts]: readonly Buffer[]): void {
    this.#lingering.delete(frame.claim_id)
    const run = this.#take(frame.claim_id)
    if (!run) return
    const { status, error, stack, next = [] } = frame
    if (status === "drained") run.listener.onLost("stopped", "it stopped after a super-step, since the server stops")
    else {
      run.listener.onDone({
        status,
        error: error && reportedFailure(error),
        ...(stack !== undefined && { stack }),
        next,
        values: values && values.length > 0 ? values.toString("utf8") : undefined,
        interrupts: interrupts && interrupts.length > 0 ? interrupts.toString("utf8") : "{}",
      })
    }
    this.#onLeave()
  }

  /** Called when the claim is lost: the run goes on elsewhere, whatever this worker still does. */
  loseClaim(claimId: string, detail: string): void {
    const run = this.#take(claimId)
    if (!run) return
    this.#lingering.add(claimId)
    run.listener.onLost("claim_lost", detail)
    this.#onLeave()
  }

  /** Called when the server has ended the run without waiting for the worker. */
  giveUp(claimId: string): void {
    if (!this.#take(claimId)) return
    this.#lingering.add(claimId)
    this.#onLeave()
  }

  /** Called when the worker has ended. */
  loseAll(reason: LostReason, detail: string): void {
    for (const claimId of [...this.#runs.keys()]) {
      this.#take(claimId)?.listener.onLost(reason, detail)
      this.#onLeave()
    }
  }

  #take(claimId: string): RunInFlight | undefined {
    const run = this.#runs.get(claimId)
    this.#runs.delete(claimId)
    return run
  }
}

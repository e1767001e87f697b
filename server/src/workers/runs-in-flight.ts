/** The runs that one worker executes, by claim: a run's earlier attempt may still be winding down beside the new one. */
import type { DoneFrame } from "@superstep/protocol/worker/frames"
import type { LostReason, RunListener, RunOrder } from "./port.js"

interface RunInFlight {
  readonly runId: string
  readonly listener: RunListener
}

/** Each run leaves exactly once, by `done` or by one of the `lose` functions; frames of others are dropped (P1). */
export class RunsInFlight {
  readonly #runs = new Map<string, RunInFlight>()
  readonly #onLeave: () => void

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  get size(): number {
    return this.#runs.size
  }

  add({ runId, claimId }: RunOrder, listener: RunListener): void {
    this.#runs.set(claimId, { runId, listener })
  }

  /** The claim under which a run executes here. */
  claimOf(runId: string): string | undefined {
    for (const [claimId, run] of this.#runs) if (run.runId === runId) return claimId
    return undefined
  }

  event(claimId: string, event: string, data: Buffer): void {
    this.#runs.get(claimId)?.listener.onEvent(event, data)
  }

  done(frame: DoneFrame, [values, interrupts]: readonly Buffer[]): void {
    const run = this.#take(frame.claim_id)
    if (!run) return
    run.listener.onDone({
      status: frame.status,
      error: frame.error && { error: frame.error.error, message: frame.error.message },
      next: frame.next ?? [],
      values: values && values.length > 0 ? values.toString("utf8") : undefined,
      interrupts: interrupts && interrupts.length > 0 ? interrupts.toString("utf8") : "{}",
    })
    this.#onLeave()
  }

  /** The claim is over: the run goes on elsewhere, whatever this worker still does. */
  loseClaim(claimId: string, detail: string): void {
    const run = this.#take(claimId)
    if (!run) return
    run.listener.onLost("claim_lost", detail)
    this.#onLeave()
  }

  /** The worker is gone. */
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

/** What `docs/errors.md` says about a code. */
export interface ErrorEntry {
  /** The statuses of replies with this code; empty when it is only printed, logged or stored. */
  readonly http: readonly number[]
  /** What happened, in a sentence. */
  readonly what: string
  /** The usual cause. */
  readonly cause: string
  /** The next step. */
  readonly next: string
}

/**
 * Decides whether this server may act on expired leases: only after it was in contact with the database for long enough.
 * While the database is unreachable no server can renew, so after an outage every lease looks like that of a dead server.
 * All times are from the database's clock, read at the moment of the contact. Pure.
 */
export class Contact {
  readonly #maxGapMs: number
  readonly #lastingMs: number
  #sinceMs: number | undefined
  #lastMs = 0

  /**
   * @param maxGapMs  a longer gap, in milliseconds, interrupts the contact
   * @param lastingMs  how long the contact must have lasted, in milliseconds
   */
  constructor({ maxGapMs, lastingMs }: { maxGapMs: number; lastingMs: number }) {
    this.#maxGapMs = maxGapMs
    this.#lastingMs = lastingMs
  }

  /** Called when the database has answered. @param nowMs  the database's clock at that moment, in milliseconds since 1970 */
  reached(nowMs: number): void {
    const gapMs = nowMs - this.#lastMs
    // A clock that goes backwards belongs to another database: a standby was promoted.
    if (this.#sinceMs === undefined || gapMs > this.#maxGapMs || gapMs < 0) this.#sinceMs = nowMs
    this.#lastMs = nowMs
  }

  /**
   * Until when this server may act on expired leases, by the database's clock: a statement that arrives later may have been
   * delayed by an outage. Undefined until contact has lasted long enough.
   */
  get judgeUntilMs(): number | undefined {
    if (this.#sinceMs === undefined || this.#lastMs - this.#sinceMs < this.#lastingMs) return undefined
    return this.#lastMs + this.#maxGapMs
  }
}

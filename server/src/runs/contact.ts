/**
 * Whether this server may judge leases: only after it was in touch with the database for long enough itself. While the
 * database cannot be reached nobody can renew, so after an outage every lease looks like that of a dead server. All
 * times are the database's own clock, read at the moment of the contact. Pure.
 */
export class Contact {
  readonly #mostGapMs: number
  readonly #lastingMs: number
  #sinceMs: number | undefined
  #lastMs = 0

  /**
   * @param mostGapMs  a longer time without contact breaks it
   * @param lastingMs  how long contact must have lasted
   */
  constructor({ mostGapMs, lastingMs }: { mostGapMs: number; lastingMs: number }) {
    this.#mostGapMs = mostGapMs
    this.#lastingMs = lastingMs
  }

  /** The database has answered. @param nowMs  its clock when it did, in milliseconds since 1970 */
  reached(nowMs: number): void {
    const gapMs = nowMs - this.#lastMs
    // A clock that goes back is another one: that of a standby which was promoted.
    if (this.#sinceMs === undefined || gapMs > this.#mostGapMs || gapMs < 0) this.#sinceMs = nowMs
    this.#lastMs = nowMs
  }

  /**
   * Until when leases may be judged, by the database's clock: a statement that arrives later may be one that an outage
   * held up. Undefined while contact has not lasted long enough.
   */
  get judgeUntilMs(): number | undefined {
    if (this.#sinceMs === undefined || this.#lastMs - this.#sinceMs < this.#lastingMs) return undefined
    return this.#lastMs + this.#mostGapMs
  }
}

/** What follows from how long a lease lasts. Pure. All times are in milliseconds. */
export interface LeaseTimes {
  readonly leaseMs: number
  /** From one renewal to the next: two may fail before the lease is over. */
  readonly renewMs: number
  /** From a renewal that failed to the next try. */
  readonly retryMs: number
  /** How long a statement on leases may take: one that an outage holds up is given up and sent on a new connection. */
  readonly statementMs: number
  /** From one look at leases to the next. */
  readonly sweepMs: number
  /** A server that was without the database for longer judges no lease for a while (contact.ts). */
  readonly mostGapMs: number
}

// How long a claim of a dead server may stay unnoticed after its lease.
const mostSweepMs = 5000
// A busy database takes its time.
const leastStatementMs = 1000

/**
 * After an outage that others do not notice, since it was not longer than `mostGapMs`, each holder must have renewed
 * before its lease is over. When the outage begins two thirds of the lease are left at least, and when it is over the
 * next renewal comes after `statementMs + retryMs` at most: 0.4 + 1/6 + 1/30 of a lease is less than two thirds. (That
 * holds for leases of 6 s or more; shorter ones are for tests.)
 */
export const leaseTimes = (leaseMs: number): LeaseTimes => ({
  leaseMs,
  renewMs: leaseMs / 3,
  retryMs: leaseMs / 30,
  statementMs: Math.max(leaseMs / 6, leastStatementMs),
  sweepMs: Math.min(leaseMs / 6, mostSweepMs),
  mostGapMs: leaseMs * 0.4,
})

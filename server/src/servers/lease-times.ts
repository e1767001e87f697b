/** Times derived from the length of a lease, in milliseconds. Pure. */
export interface LeaseTimes {
  readonly leaseMs: number
  /** From one renewal to the next: two may fail before the lease expires. */
  readonly renewMs: number
  /** From a renewal that failed to the next try. */
  readonly retryMs: number
  /** How long a statement on leases may take: one that an outage delays is given up and sent on a new connection. */
  readonly statementMs: number
  /** From one look at leases to the next. */
  readonly sweepMs: number
  /** After a longer time without the database, a server does not act on expired leases for a while (contact.ts). */
  readonly maxGapMs: number
}

// How long a claim of a dead server may stay unnoticed after its lease.
const maxSweepMs = 5000
// A busy database may be slow.
const minStatementMs = 1000

/**
 * An outage of at most `maxGapMs` goes unnoticed by the other servers, so each holder must renew before its lease expires.
 * When the outage starts, at least two thirds of the lease are left. When it is over, the next renewal comes after at most
 * `statementMs + retryMs`: 0.4 + 1/6 + 1/30 of a lease is less than two thirds. (This holds for leases of 6 s or more;
 * shorter ones are for tests.)
 */
export const leaseTimes = (leaseMs: number): LeaseTimes => ({
  leaseMs,
  renewMs: leaseMs / 3,
  retryMs: leaseMs / 30,
  statementMs: Math.max(leaseMs / 6, minStatementMs),
  sweepMs: Math.min(leaseMs / 6, maxSweepMs),
  maxGapMs: leaseMs * 0.4,
})

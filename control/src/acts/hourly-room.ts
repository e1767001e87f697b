/** How many entries the acts of each deployment may still add to the audit log in this hour. In memory: a restart begins a new hour. */

const hourMs = 3_600_000

export class HourlyRoom {
  readonly #most: number
  #hour = 0
  readonly #taken = new Map<string, number>()

  /** @param most  for each deployment, in an hour */
  constructor(most: number) {
    this.#most = most
  }

  /** @param now  in milliseconds */
  left(deploymentId: string, now: number): number {
    const hour = Math.floor(now / hourMs)
    if (hour !== this.#hour) {
      this.#hour = hour
      this.#taken.clear()
    }
    return this.#most - (this.#taken.get(deploymentId) ?? 0)
  }

  /** Counts what was taken since `left`. */
  take(deploymentId: string, count: number): void {
    this.#taken.set(deploymentId, (this.#taken.get(deploymentId) ?? 0) + count)
  }
}

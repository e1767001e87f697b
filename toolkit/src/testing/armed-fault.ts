/** Faults of a connection that wait for their moment. */

export interface Aim {
  readonly isHit: boolean
  /** Resolves when it has happened; never, when it is disarmed before. */
  readonly hit: Promise<void>
  disarm(): void
}

export class ArmedFault<Fault> implements Aim {
  isHit = false
  readonly hit: Promise<void>
  readonly fault: Fault
  readonly #all: Set<ArmedFault<Fault>>
  #onHit: () => void = () => undefined

  /** @param all  the faults that wait; it adds itself */
  constructor(fault: Fault, all: Set<ArmedFault<Fault>>) {
    this.fault = fault
    this.#all = all
    this.hit = new Promise((resolve) => {
      this.#onHit = resolve
    })
    all.add(this)
  }

  strike(): void {
    this.disarm()
    this.isHit = true
    this.#onHit()
  }

  disarm(): void {
    this.#all.delete(this)
  }
}

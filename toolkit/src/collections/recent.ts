/** The values that were used last, of those that were set. */
export class Recent<Key, Value> {
  readonly #values = new Map<Key, Value>()
  readonly #most: number

  /** @param most  how many are kept */
  constructor(most: number) {
    this.#most = most
  }

  get(key: Key): Value | undefined {
    const value = this.#values.get(key)
    if (value !== undefined) this.set(key, value)
    return value
  }

  set(key: Key, value: Value): void {
    // A map keeps the order of insertion.
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size <= this.#most) return
    for (const oldest of this.#values.keys()) {
      this.#values.delete(oldest)
      return
    }
  }

  delete(key: Key): void {
    this.#values.delete(key)
  }
}

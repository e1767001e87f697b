/** A queue whose first item is removed in constant time. `Array.shift` moves all items of a long array. */
export class Fifo<T> implements Iterable<T> {
  #items: (T | undefined)[] = []
  #first = 0

  get length(): number {
    return this.#items.length - this.#first
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** The first item, which stays. */
  peek(): T | undefined {
    return this.#items[this.#first]
  }

  /** Removes the first item. */
  shift(): T | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#first]
    this.#items[this.#first++] = undefined
    // Each item is moved once on average: a copy takes as many steps as there were removals since the last one.
    if (this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
    return item
  }

  /** From the first item to the last. Items may be added meanwhile, and not removed. */
  *[Symbol.iterator](): Iterator<T> {
    for (let at = this.#first; at < this.#items.length; at++) yield this.#items[at] as T
  }
}

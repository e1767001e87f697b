/** React keys for the items of a list, which have no ids: each item keeps its editor when another item is removed. */
export interface ItemKeys {
  /** One key for each item. New items are at the end. */
  of(length: number): readonly number[]
  remove(index: number): void
}

export function newKeys(): ItemKeys {
  let keys: readonly number[] = []
  let last = 0
  return {
    of: (length) => {
      if (length !== keys.length)
        keys = Array.from({ length }, (_, n) => {
          last += 1
          return keys[n] ?? last
        })
      return keys
    },
    remove: (index) => {
      keys = keys.filter((_, n) => n !== index)
    },
  }
}

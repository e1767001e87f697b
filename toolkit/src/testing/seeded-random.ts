/** Chance that can be repeated: the same seed gives the same choices. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number
  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number
  /** A whole number from 0 up to, not including, `limit`. */
  below(limit: number): number
  pick<T>(choices: readonly T[]): T
}

/** mulberry32: 32 bits of state are plenty for a schedule of some thousand choices. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  const below = (limit: number) => between(0, limit - 1)
  const pick = <T>(choices: readonly T[]): T => {
    const choice = choices[below(choices.length)]
    if (choice === undefined) throw new RangeError("there is nothing to pick from")
    return choice
  }
  return { next, between, below, pick }
}

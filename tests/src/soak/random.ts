/** Chance that can be had again: the same seed gives the same numbers. */

/** @returns a function that gives a whole number from `least` to `most` (mulberry32) */
export function seededRandom(seed: number): (least: number, most: number) => number {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return (least, most) => least + Math.floor(next() * (most - least + 1))
}

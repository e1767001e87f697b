/** When the end of a run is told again. Pure. */

const second = 1000
const minute = 60 * second
const hour = 60 * minute

// Soon after a hiccup, then ever more rarely: a receiver that is repaired within half a day hears of everything.
export const delaysMs = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  6 * hour,
]

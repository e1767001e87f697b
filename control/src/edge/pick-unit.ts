import type { Unit } from "./table.js"

/**
 * The unit with the fewest open requests, streams and WebSockets together; a tie is broken by chance, so that quiet
 * times do not send everything to the first.
 * @param openOn  how much is open on a unit
 * @param random  a number from 0 up to, not including, 1
 * @returns       undefined when there is no unit to choose
 */
export function pickUnit(
  units: readonly Unit[],
  openOn: (unitId: string) => number,
  random: () => number,
): Unit | undefined {
  const load = units.map(({ unit_id }) => openOn(unit_id))
  const least = Math.min(...load)
  const idle = units.filter((_, index) => load[index] === least)
  return idle[Math.floor(random() * idle.length)]
}

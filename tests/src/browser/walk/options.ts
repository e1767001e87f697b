/** The options of `npm run walk`. Pure. */
import { parseArgs } from "node:util"
import { numberOption } from "@superstep/toolkit/testing/number-option"

export interface WalkLength {
  /** How long the walk lasts, once its platform is up; undefined when only the steps count. */
  readonly minutes: number | undefined
  readonly steps: number | undefined
}

export interface WalkCommand extends WalkLength {
  readonly seed: number
}

export const help = `npm run walk [-- --minutes 10] [--steps 200] [--seed 7]

Presses what it finds in the console of a platform of its own, and prints each step. SUPERSTEP_TEST_CHROMIUM names the browser.

  --minutes  how long it walks (default 10, unless --steps is given)
  --steps    how many steps it takes at most
  --seed     which walk; the seed of each walk is printed

The same seed and number of steps repeat a walk as far as the pages are the same: what a step does depends on the seed, its number and what the
page offers. Not repeatable: ids and times, what agents, builds and restarts have done by the time of a step, and a page that needs longer than
two seconds to settle.`

const defaultMinutes = 10
// A walk without a step shows nothing.
const aFewSeconds = { least: 0.05, isWhole: false }

/**
 * @param now  seeds a walk whose seed is not given
 * @returns    undefined when the help is asked for
 * @throws Error  an option is unknown, or its value is not usable
 */
export function parseWalk(args: readonly string[], now: number): WalkCommand | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string" },
      steps: { type: "string" },
      seed: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) return undefined
  const steps = values.steps === undefined ? undefined : numberOption("steps", values.steps, { least: 1 })
  const minutes = values.minutes === undefined ? undefined : numberOption("minutes", values.minutes, aFewSeconds)
  return {
    steps,
    minutes: minutes ?? (steps === undefined ? defaultMinutes : undefined),
    seed: values.seed === undefined ? now % 1_000_000 : numberOption("seed", values.seed),
  }
}

/**
 * Chance for a walk. What is chosen depends on the seed, the number of the step and the choices alone, not on how much chance was used
 * before: after a difference, such as a slow reply, the walk goes on as it would have. Pure.
 */
import { createHash } from "node:crypto"

export interface Dice {
  /** From 0 up to, not including, 1. @param what  what is asked: the same question has the same answer */
  share(what: string): number
  /** A whole number from 0 up to, not including, `limit`. */
  below(limit: number, what: string): number
  /**
   * One of the choices. Another choice beside them either is the one, or changes nothing.
   * @param weightOf  how often one is chosen, in relation to the others; default 1
   */
  among<T>(choices: readonly T[], nameOf: (choice: T) => string, weightOf?: (choice: T) => number): T | undefined
}

export function diceOf(seed: number, step: number): Dice {
  const share = (what: string) =>
    createHash("sha256").update(`${seed} ${step} ${what}`).digest().readUInt32BE(0) / 2 ** 32
  return {
    share,
    below: (limit, what) => Math.floor(share(what) * limit),
    among: (choices, nameOf, weightOf = () => 1) => {
      const shares = choices.map((choice) => share(nameOf(choice)) ** (1 / weightOf(choice)))
      return choices[shares.indexOf(Math.max(...shares))]
    },
  }
}

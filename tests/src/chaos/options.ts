/** What `npm run chaos` is told on its command line. */
import { randomInt } from "node:crypto"
import { parseArgs } from "node:util"

export interface ChaosOptions {
  readonly kills: number
  readonly seed: number
}

export const usage = `npm run chaos [-- options]
  --kills N   kill so many processes (1000)
  --seed N    choose as an earlier run did; it prints its seed (a new one)`

/** @returns undefined when help was asked for @throws TypeError  naming what cannot be read */
export function parseOptions(argv: readonly string[]): ChaosOptions | undefined {
  const options = { kills: { type: "string" }, seed: { type: "string" }, help: { type: "boolean" } } as const
  const { values } = parseArgs({ args: [...argv], options })
  if (values.help) return undefined
  return { kills: wholeNumber("kills", values.kills, 1000), seed: wholeNumber("seed", values.seed, randomInt(2 ** 31)) }
}

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  if (!/^\d+$/.test(text)) throw new TypeError(`--${name} ${text}: expected a whole number`)
  return Number(text)
}

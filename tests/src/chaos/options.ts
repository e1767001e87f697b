/** What `npm run chaos` is told on its command line. */
import { randomInt } from "node:crypto"
import { parseArgs } from "node:util"

export interface ChaosOptions {
  readonly kills: number
  readonly seed: number
  readonly servers: number
}

export const usage = `npm run chaos [-- options]
  --kills N   kill so many processes (1000)
  --seed N    choose as an earlier run did; it prints its seed (a new one)
  --servers N so many agent servers on one database (2). More than two are also paused for longer than their leases, and
              cut off from Postgres for up to a minute; their clients join and cancel too`

/** @returns undefined when help was asked for @throws TypeError  naming what cannot be read */
export function parseOptions(argv: readonly string[]): ChaosOptions | undefined {
  const number = { type: "string" } as const
  const options = { kills: number, seed: number, servers: number, help: { type: "boolean" } } as const
  const { values } = parseArgs({ args: [...argv], options })
  if (values.help) return undefined
  return {
    kills: wholeNumber("kills", values.kills, 1000),
    seed: wholeNumber("seed", values.seed, randomInt(2 ** 31)),
    servers: wholeNumber("servers", values.servers, 2),
  }
}

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  if (!/^\d+$/.test(text)) throw new TypeError(`--${name} ${text}: expected a whole number`)
  return Number(text)
}

/** What may be said on the command line. */
import { parseArgs } from "node:util"
import type { SystemName } from "./systems/system.js"

export interface Options {
  readonly systems: readonly SystemName[]
  /** Only scenarios whose name has this in it. */
  readonly only: string
  readonly repeats: number
  readonly requests: number
  readonly tokens: number
  /** Small numbers everywhere: shows that all works, says little about speed. */
  readonly isQuick: boolean
  /** Also the scenario of many sleeping deployments, which takes minutes. */
  readonly withIdle: boolean
  readonly jsonFile: string | undefined
}

export const usage = `npm run bench -- [options]
  --floor          only the bare reference, no agent server
  --peer           also the public dev server, which is installed from npm at first
  --only TEXT      only scenarios with TEXT in their name
  --idle           also 20 deployments that are idle, and 20 that sleep: a matter of minutes
  --quick          small numbers and one round: a smoke test
  --repeats N      rounds; what is shown is the median of their figures (default 5)
  --requests N     requests one after the other in a round (default 100)
  --tokens N       tokens of the long stream (default 20000)
  --json FILE      also write everything as JSON
  --help`

/** @throws TypeError  naming the option that is not understood */
export function readOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      floor: { type: "boolean", default: false },
      peer: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      idle: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      repeats: { type: "string" },
      requests: { type: "string" },
      tokens: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) return "help"
  const small = values.quick
  return {
    systems: [
      "floor",
      ...(values.floor ? [] : (["server", "edge"] as const)),
      ...(values.peer ? (["peer"] as const) : []),
    ],
    only: values.only,
    repeats: count("repeats", values.repeats ?? (small ? "1" : "5")),
    requests: count("requests", values.requests ?? (small ? "10" : "100")),
    tokens: count("tokens", values.tokens ?? (small ? "500" : "20000")),
    isQuick: small,
    withIdle: values.idle,
    jsonFile: values.json,
  }
}

function count(name: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new TypeError(`--${name} wants a whole number above 0, not "${text}"`)
  return Number(text)
}

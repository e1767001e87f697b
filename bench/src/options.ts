/** What may be said on the command line. */
import { parseArgs } from "node:util"

export interface Options {
  readonly floorOnly: boolean
  /** Only scenarios whose name has this in it. */
  readonly only: string
  readonly repeats: number
  readonly requests: number
  readonly tokens: number
  readonly jsonFile: string | undefined
}

export const usage = `npm run bench -- [options]
  --floor          only the bare reference, no agent server
  --only TEXT      only scenarios with TEXT in their name
  --repeats N      rounds; what is shown is the median of their figures (default 5)
  --requests N     requests one after the other in a round (default 100)
  --tokens N       tokens of the long stream (default 5000)
  --json FILE      also write everything as JSON
  --help`

/** @throws TypeError  naming the option that is not understood */
export function readOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      floor: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      repeats: { type: "string", default: "5" },
      requests: { type: "string", default: "100" },
      tokens: { type: "string", default: "5000" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) return "help"
  return {
    floorOnly: values.floor,
    only: values.only,
    repeats: count("repeats", values.repeats),
    requests: count("requests", values.requests),
    tokens: count("tokens", values.tokens),
    jsonFile: values.json,
  }
}

function count(name: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new TypeError(`--${name} wants a whole number above 0, not "${text}"`)
  return Number(text)
}

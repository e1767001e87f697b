/** The command line. */
import { parseArgs } from "node:util"
import { numberOption } from "@superstep/toolkit/testing/number-option"

export type SystemName = "floor" | "server" | "untraced" | "proxy" | "edge" | "peer" | "python-floor" | "python"

export interface Options {
  readonly systems: readonly SystemName[]
  /** Texts of which a scenario's name must have one; all scenarios when there is none. */
  readonly only: readonly string[]
  readonly repeats: number
  readonly requests: number
  readonly tokens: number
  /** Number of ended runs of the aged database, which has a tenth as many threads. */
  readonly history: number
  /** Small numbers everywhere: a smoke test, not a measurement. */
  readonly isQuick: boolean
  /** Also the scenarios of idle and sleeping deployments, which take minutes. */
  readonly withIdle: boolean
  readonly jsonFile: string | undefined
}

export const usage = `npm run bench -- [options]
  --floor          only the bare reference, no agent server
  --peer           also the public dev server, which is installed from npm first
  --untraced       also the agent server without traces (SUPERSTEP_TRACES=off)
  --python         also graphs in Python and their floor, with the interpreter of SUPERSTEP_TEST_PYTHON
  --only TEXT      only scenarios with TEXT in their name; may be repeated
  --idle           also 20 idle deployments and 20 sleeping ones; takes minutes
  --quick          small numbers and one round: a smoke test
  --repeats N      number of rounds; the table shows medians (default 5)
  --requests N     sequential requests per round (default 100)
  --tokens N       number of tokens of the long stream (default 20000)
  --history N      number of ended runs of the aged database (default 1000000; 2000000 need about 4 GB of disk)
  --json FILE      also write all results as JSON
  --help`

/** @throws TypeError  naming the invalid option */
export function readOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      floor: { type: "boolean", default: false },
      peer: { type: "boolean", default: false },
      untraced: { type: "boolean", default: false },
      python: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      idle: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      repeats: { type: "string" },
      requests: { type: "string" },
      tokens: { type: "string" },
      history: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) return "help"
  const small = values.quick
  return {
    systems: [
      "floor",
      ...(values.floor ? [] : (["server", "proxy", "edge"] as const)),
      ...(values.untraced ? (["untraced"] as const) : []),
      ...(values.python ? (["python-floor", "python"] as const) : []),
      ...(values.peer ? (["peer"] as const) : []),
    ],
    only: values.only,
    repeats: numberOption("repeats", values.repeats ?? (small ? "1" : "5"), { least: 1 }),
    requests: numberOption("requests", values.requests ?? (small ? "10" : "100"), { least: 1 }),
    tokens: numberOption("tokens", values.tokens ?? (small ? "500" : "20000"), { least: 1 }),
    history: numberOption("history", values.history ?? "1000000", { least: 1 }),
    isQuick: small,
    withIdle: values.idle,
    jsonFile: values.json,
  }
}

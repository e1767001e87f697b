/** What `npm run chaos` is told on its command line. */
import { randomInt } from "node:crypto"
import { parseArgs } from "node:util"
import { numberOption } from "@superstep/toolkit/testing/number-option"
import type { LanguageName } from "../testing/languages.js"
import { kindsOf, type OutageKind, outageKinds } from "./outage-kinds.js"

export interface ChaosOptions {
  readonly kills: number
  readonly seed: number
  readonly servers: number
  /** How long leases are, in seconds. */
  readonly leaseSeconds: number | undefined
  readonly language: LanguageName
  /** The folder of another release. */
  readonly mixed: string | undefined
  readonly histories: boolean
  /** Histories of deployments, in place of threads. */
  readonly deployments: boolean
  /** Conversations with a worker, in place of servers. */
  readonly conversations: boolean
  /** Postgres loses its last seconds when it is killed. */
  readonly lossy: boolean
  /** The sockets between servers and workers fail. */
  readonly workerCuts: boolean
  /** What happens to the servers; nothing of theirs is killed. */
  readonly outages: readonly OutageKind[] | undefined
  /** Which faults of the way to Postgres are aimed at. */
  readonly aims: "none" | "quick" | "all"
  /** A recorded history to judge, in place of a campaign. */
  readonly judged: string | undefined
}

const kindNames = outageKinds.map((kind) => JSON.stringify(kind)).join(", ")

export const usage = `npm run chaos [-- options]
  --kills N   kill so many processes (1000)
  --seed N    choose as an earlier run did; it prints its seed (a new one)
  --servers N so many agent servers on one database (2). More than two are also paused for longer than their leases, and
              cut off from Postgres for up to a minute; their clients join and cancel too
  --lease N   leases of so many seconds (10): with short ones more servers are paused for longer than a lease
  --mixed FOLDER  half of the servers start as the program of another release (.ci/release prints the folder of the last one), and each
              server changes the release with each of its starts
  --histories several clients write to each thread, with calls of every kind, while servers' clocks differ by two seconds; a judge says whether
              any order of the calls explains what they saw. The calls of each round are kept in a folder, which is printed
  --deployments  several clients change each deployment while its control plane is killed; a judge says the same of what they saw
  --conversations  --kills conversations with a worker each, whose runs are paused, cancelled and lose their claims; a judge knows the rules of the
              worker protocol
  --lossy     several clients write to each thread, and Postgres loses the last seconds when it is killed, as a standby does that is promoted
  --worker-cuts  several clients write to each thread, while --kills connections between servers and workers are cut in the middle of a frame, or
              carry nothing more in one direction
  --outages all  something happens to the servers --kills times, and nothing of theirs is killed: no run may be attempted again. Or one kind by its
              name: ${kindNames}
  --aims quick  --histories, while the way to Postgres fails at chosen statements: replies of commits are lost, requests break, notifications are
              held. Each aim must be hit. --aims all: also connections on which nothing arrives any more, which servers notice after a minute
  --judge F   judge the calls in the file F of such a folder again
  --python    with graphs in Python, by the interpreter that SUPERSTEP_TEST_PYTHON names`

/** @returns undefined when help was asked for @throws TypeError  naming what cannot be read */
export function parseOptions(argv: readonly string[]): ChaosOptions | undefined {
  const [text, flag] = [{ type: "string" }, { type: "boolean" }] as const
  const options = {
    kills: text,
    seed: text,
    servers: text,
    lease: text,
    mixed: text,
    histories: flag,
    deployments: flag,
    conversations: flag,
    lossy: flag,
    "worker-cuts": flag,
    outages: text,
    aims: text,
    judge: text,
    python: flag,
    help: flag,
  } as const
  const { values } = parseArgs({ args: [...argv], options })
  if (values.help) return undefined
  return {
    kills: wholeNumber("kills", values.kills, 1000),
    seed: wholeNumber("seed", values.seed, randomInt(2 ** 31)),
    servers: wholeNumber("servers", values.servers, 2),
    leaseSeconds: values.lease === undefined ? undefined : wholeNumber("lease", values.lease, 10),
    deployments: values.deployments ?? false,
    conversations: values.conversations ?? false,
    lossy: values.lossy ?? false,
    workerCuts: values["worker-cuts"] ?? false,
    outages: outagesOf(values.outages),
    histories: values.histories ?? values.aims !== undefined,
    aims: oneOf("aims", values.aims, ["none", "quick", "all"]),
    judged: values.judge,
    language: values.python ? "Python" : "JavaScript",
    mixed: values.mixed,
  }
}

function oneOf<Word extends string>(name: string, text: string | undefined, words: readonly [Word, ...Word[]]): Word {
  const word = text === undefined ? words[0] : words.find((one) => one === text)
  if (word === undefined) throw new TypeError(`--${name} ${text}: expected one of ${words.join(", ")}`)
  return word
}

function outagesOf(name: string | undefined): readonly OutageKind[] | undefined {
  const kinds = name === undefined ? undefined : kindsOf(name)
  if (name !== undefined && !kinds) throw new TypeError(`--outages ${name}: expected all, or a kind that --help names`)
  return kinds
}

const wholeNumber = (name: string, text: string | undefined, otherwise: number): number =>
  text === undefined ? otherwise : numberOption(name, text)

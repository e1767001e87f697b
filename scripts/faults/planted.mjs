/**
 * `npm run planted [-- words]`: plants one fault after the other in a copy of the checkout, and hunts each with the campaign that should find
 * it, for ten minutes at most. Fails when one is not found. Words select faults by a part of their name.
 * Why: docs/decisions/0077-planted-faults.md.
 */
import { execFileSync } from "node:child_process"
import { parseArgs } from "node:util"
import { explain, root, SetupFailed, setUp } from "../setup.mjs"
import { hunt, makeField } from "./plant.mjs"
import { faults } from "./planted-faults.mjs"

const usage = `npm run planted [-- options] [words]
  words         hunt only faults with one of these in their names
  --minutes N   give a fault up after so many minutes (10)
  --seed N      with this seed in place of those of the list
  --quick N     hunt N of those that are found within a minute or so; the commit chooses which
  --list        print the faults
  --verbose     print what the campaigns print`

const print = (line) => void process.stdout.write(`${line}\n`)

async function main(argv) {
  const { values, positionals: words } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      minutes: { type: "string", default: "10" },
      seed: { type: "string" },
      quick: { type: "string" },
      list: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) return print(usage)
  const named = faults.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
  const chosen = values.quick === undefined ? named : ofCommit(named, numberOf("quick", values.quick))
  if (values.list) return print(chosen.map(({ name, what }) => `${name}: ${what}`).join("\n"))
  await setUp()
  const field = await makeField()
  const seconds = numberOf("minutes", values.minutes) * 60
  const interrupted = new AbortController()
  const { signal } = interrupted
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => interrupted.abort(new SetupFailed("interrupted")))
  const onLine = values.verbose ? print : undefined
  try {
    print("| fault | campaign | found by | after | finding |\n|---|---|---|---|---|")
    for (const fault of chosen) {
      const seeded = values.seed === undefined ? fault : withSeed(fault, values.seed)
      const found = await hunt(field, seeded, { seconds, signal, ...(onLine && { onLine }) })
      print(rowOf(seeded, found))
      if (found.finding === undefined) process.exitCode = 1
    }
  } finally {
    field.remove()
  }
}

function numberOf(name, text) {
  if (!/^[1-9]\d*$/.test(text)) throw new SetupFailed(`--${name} ${text}: expected a whole number from 1`)
  return Number(text)
}

/** Other faults for another commit. */
function ofCommit(all, count) {
  const quick = all.filter(({ isQuick }) => isQuick)
  const commit = execFileSync("git", ["rev-parse", "--short=6", "HEAD"], { cwd: root, encoding: "utf8" })
  const first = Number.parseInt(commit, 16)
  return quick.filter((_, index) => (index + first) % quick.length < count)
}

function withSeed(fault, seed) {
  const { program, args } = fault.campaign
  const at = args.findIndex((arg) => /^--(seed|from)$/.test(arg))
  return at < 0 ? fault : { ...fault, campaign: { program, args: args.with(at + 1, seed) } }
}

const longestFinding = 160

function rowOf({ name, campaign: { program, args, env = {} } }, { judge, finding, seconds, seed }) {
  const text = finding === undefined ? "" : finding.replaceAll("|", "/").slice(0, longestFinding)
  const variables = Object.entries(env).map(([variable, value]) => `${variable}="${value}" `)
  const command = `\`${variables.join("")}${program} ${args.join(" ")}\`${program.startsWith("simulate") && finding ? `, seed ${seed}` : ""}`
  return `| ${[name, command, judge ?? "NOT FOUND", `${seconds} s`, text].join(" | ")} |`
}

await main(process.argv.slice(2)).catch(explain)

/** `npm run simulate`: histories of the planner in simulated time, one a seed. */
import { parseArgs } from "node:util"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { migrations } from "../api.js"
import { simulate } from "./simulate.js"
import { ownTheTime, simulatedSessions } from "./simulated-database.js"

const usage = `Runs the planner, the pipeline and the reconciler in simulated time, on a real database.

  npm run simulate -- [--seeds 100] [--from 1] [--verbose]

  --seeds    how many histories
  --from     the seed of the first one; --seeds 1 --from 17 repeats one
  --verbose  prints a line for each event

Ctrl-C ends it after the present history; it prints what was held until then.`

const print = (line: string): void => void process.stdout.write(`${line}\n`)

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "100" },
      from: { type: "string", default: "1" },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) return print(usage)
  const [seeds, from] = [Number(values.seeds), Number(values.from)]
  await using database = await freshDatabase({ migrations })
  await ownTheTime(database)
  await using sessions = simulatedSessions(database.uri)
  const startedAt = performance.now()
  let [simulatedMs, failed, held, isAsked] = [0, 0, 0, false]
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => (isAsked = true))
  for (let seed = from; seed < from + seeds && !isAsked; seed++) {
    const outcome = await simulate(sessions, seed, values.verbose ? (line) => print(line) : undefined)
    held++
    simulatedMs += outcome.simulatedMs
    if (values.verbose)
      print(
        `seed ${seed}: ${Math.round(outcome.simulatedMs / 60_000)} simulated minutes, ${JSON.stringify(outcome.counts)}`,
      )
    if (outcome.broken.length === 0) continue
    failed++
    print(`seed ${seed}:`)
    for (const what of outcome.broken) print(`  ${what}`)
  }
  const tookMs = performance.now() - startedAt
  print(
    `${held} seeds, ${(simulatedMs / 3_600_000).toFixed(1)} simulated hours in ${(tookMs / 1000).toFixed(0)} s, ${failed} failed`,
  )
  if (failed > 0) process.exitCode = 1
}

await main()

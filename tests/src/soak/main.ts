/** `npm run soak`: the soak for as long as one likes. */
import { parseArgs } from "node:util"
import { numberOption } from "@superstep/toolkit/testing/number-option"
import { agentDatabase } from "../testing/agent-servers.js"
import { soakAServer } from "./soak-of-a-server.js"

const help = `npm run soak -- [--minutes 10] [--seed 1]   mixed load; memory, files and rows are compared at the end`

const say = (line: string): void => console.log(line)

async function main(): Promise<string[]> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "10" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) {
    say(help)
    return []
  }
  say(`seed ${values.seed}`)
  const end = performance.now() + numberOption("minutes", values.minutes, { isWhole: false }) * 60_000
  await using db = await agentDatabase()
  const load = {
    seed: numberOption("seed", values.seed),
    visitsPerRound: 96,
    wantsMore: () => performance.now() < end,
    say,
  }
  // Awaited here: the database ends with this function.
  return await soakAServer(db, { ...load, waitsForOldEvents: true })
}

// At its exit a process takes its servers and its Postgres along; a signal alone would leave them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1))

const problems = await main()
for (const problem of problems) say(problem)
if (problems.length > 0) process.exitCode = 1

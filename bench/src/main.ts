/** `npm run bench`: measures the agent server beside a bare reference in the same run, and prints their ratio. */
import { writeFile } from "node:fs/promises"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { BenchFailed } from "./http-client.js"
import { measure } from "./measure.js"
import { type Options, readOptions, usage } from "./options.js"
import { Cleanup } from "./processes.js"
import { environment, renderTable, summarise } from "./report.js"
import { scenarios } from "./scenarios.js"
import { type System, startEdge, startFloor, startServer } from "./systems.js"

class Interrupted extends Error {}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  if (options === "help") return console.log(usage)
  await using cleanup = new Cleanup()
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => reject(new Interrupted(signal)))
  })
  await Promise.race([bench(options, cleanup), interrupted])
}

async function bench(options: Options, cleanup: Cleanup): Promise<void> {
  const chosen = scenarios(options).filter(({ name }) => name.includes(options.only))
  if (chosen.length === 0) throw new BenchFailed(`no scenario has "${options.only}" in its name`)
  const systems = await startSystems(options, cleanup)
  const rows = summarise(await measure(chosen, systems, options.repeats, say))
  console.log(`\n${renderTable(rows, options)}`)
  if (options.jsonFile === undefined) return
  await writeFile(options.jsonFile, `${JSON.stringify({ environment: environment(), options, rows }, null, 2)}\n`)
}

/** The first is what the others are compared with. */
async function startSystems({ floorOnly }: Options, cleanup: Cleanup): Promise<System[]> {
  const place = { folder: temporaryFolder(), cleanup }
  const floor = await startFloor(place)
  const behindEdge = floorOnly ? floor : await startServer(place)
  return [...new Set([floor, behindEdge]), await startEdge(place, behindEdge)]
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)

await main().catch((error: unknown) => {
  if (error instanceof Interrupted) process.exitCode = 130
  else {
    say(error instanceof BenchFailed || error instanceof TypeError ? error.message : String((error as Error).stack))
    process.exitCode = 1
  }
})

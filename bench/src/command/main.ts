/** `npm run bench`: measures the agent server and a bare reference in the same run, and prints their ratios. */
import { writeFile } from "node:fs/promises"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { BenchFailed } from "../http-client.js"
import { type Options, readOptions, usage } from "../options.js"
import { Cleanup } from "../processes.js"
import type { Scenario } from "../scenarios/scenario.js"
import { scenarios } from "../scenarios/scenarios.js"
import { Systems } from "../systems/systems.js"
import { type Measured, measure } from "./measure.js"
import { environment, type Row, renderRows, renderTable, summarise } from "./report.js"

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
  const { only } = options
  const chosen = scenarios(options).filter(({ name }) => only.length === 0 || only.some((text) => name.includes(text)))
  if (chosen.length === 0) throw new BenchFailed(`no scenario has "${only.join('" or "')}" in its name`)
  const systems = await Systems.prepare(options.systems, temporaryFolder(), cleanup)
  const measured: Measured[] = []
  const rows: Row[] = []
  for (const scenario of chosen) {
    const results = await measureWith(scenario, systems, options, cleanup)
    measured.push(...results)
    rows.push(...summarise(results))
    say(renderRows(summarise(results), options))
  }
  console.log(`\n${renderTable(rows, options)}`)
  const failures = measured.flatMap(({ scenario, system, failure }) =>
    failure === undefined ? [] : [`${system}, ${scenario.name}: ${failure}`],
  )
  if (options.jsonFile !== undefined) {
    const report = { environment: environment(), options, rows, failures }
    await writeFile(options.jsonFile, `${JSON.stringify(report, null, 2)}\n`)
  }
  if (failures.length > 0) throw new BenchFailed(`\nfailed scenarios:\n${failures.join("\n")}`)
}

/** Each scenario starts new processes, so its figures do not depend on earlier scenarios. A smoke test does not need that. */
async function measureWith(
  scenario: Scenario,
  systems: Systems,
  { repeats, isQuick }: Options,
  cleanup: Cleanup,
): Promise<Measured[]> {
  await using own = new Cleanup()
  cleanup.add(() => own[Symbol.asyncDispose]())
  const started = await (isQuick ? systems.startShared(scenario) : systems.startAnew(scenario, own))
  return await measure(scenario, started, { repeats, cleanup: own, say })
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)

await main().catch((error: unknown) => {
  // Everything is stopped. Pending requests are abandoned.
  if (error instanceof Interrupted) process.exit(130)
  say(error instanceof BenchFailed || error instanceof TypeError ? error.message : String((error as Error).stack))
  process.exitCode = 1
})

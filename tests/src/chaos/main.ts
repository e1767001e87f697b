/** `npm run chaos`: kills until enough has been killed, tells each round, and ends with a table. */
import { resolve } from "node:path"
import { serverOf, thisRelease } from "../testing/last-release.js"
import { campaign } from "./campaign.js"
import { chaosLanguages } from "./languages.js"
import { parseOptions, usage } from "./options.js"
import { renderReport, totalKills } from "./report.js"

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  if (!options) return console.log(usage)
  const language = chaosLanguages.find(({ name }) => name === options.language)
  if (language?.skip) throw new Error(language.skip)
  console.log(`seed ${options.seed}`)
  let told = 0
  const onRound = (report: Parameters<typeof renderReport>[0]) => {
    console.log(`${totalKills(report)} kills, ${report.runs} runs, ${report.broken.length} promises broken`)
    for (const { promise, detail } of report.broken.slice(told)) console.log(`  ${promise}: ${detail}`)
    told = report.broken.length
  }
  const mains = options.mixed === undefined ? [] : [{ folder: resolve(options.mixed) }, thisRelease].map(serverOf)
  const report = await campaign({ ...options, mains, ...(language && { env: language.env }), onRound })
  console.log(`\n${renderReport(report)}`)
  if (report.broken.length > 0) process.exitCode = 1
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))

main().catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})

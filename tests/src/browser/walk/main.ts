/** `npm run walk`: the walk through the console for as long as one likes. */
import { parseArgs } from "node:util"
import { noChromium } from "../console-page.js"
import { walkAPlatform } from "./walk-a-platform.js"

const help =
  "npm run walk -- [--minutes 10] [--seed 1]   presses what it finds in the console; SUPERSTEP_TEST_CHROMIUM names the browser"

const say = (line: string): void => console.log(line)

async function main(): Promise<readonly string[]> {
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
  if (noChromium !== false) return [noChromium]
  say(`seed ${values.seed}`)
  const end = performance.now() + Number(values.minutes) * 60_000
  const walked = await walkAPlatform({ seed: Number(values.seed), wantsMore: () => performance.now() < end, say })
  say(`${walked.steps} steps: ${JSON.stringify(walked.pressed)}`)
  return walked.problems
}

// At its exit a process takes its platform along; a signal alone would leave it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1))

const problems = await main()
say(`${problems.length} problems`)
if (problems.length > 0) {
  say(problems.join("\n"))
  process.exitCode = 1
}

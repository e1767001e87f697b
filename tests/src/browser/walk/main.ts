/** `npm run walk`: the walk through the console for as long as one likes. */
import { noChromium } from "../console-page.js"
import { help, parseWalk, type WalkCommand } from "./options.js"
import { walkAPlatform } from "./walk-a-platform.js"

const say = (line: string): void => console.log(line)

function optionsOf(args: readonly string[]): WalkCommand | undefined {
  try {
    return parseWalk(args, Date.now())
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`)
    process.exit(64)
  }
}

async function main(): Promise<void> {
  const command = optionsOf(process.argv.slice(2))
  if (!command) return say(help)
  if (noChromium !== false) throw new Error(noChromium)
  say(`seed ${command.seed}`)
  const { steps, pressed, problems } = await walkAPlatform({ ...command, say })
  say(`${steps} steps: ${JSON.stringify(pressed)}`)
  say([`${problems.length} problems`, ...problems].join("\n"))
  if (problems.length > 0) process.exitCode = 1
}

// A process that exits stops its platform; one that a signal ends leaves it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1))

await main()

/** Histories of a simulation, one a seed, in several processes: `runCampaign` gives them their seeds, `holdHistories` is each of them. */
import { type ChildProcess, fork } from "node:child_process"
import { on } from "node:events"
import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import { numberOption } from "../number-option.js"
import { testCluster } from "../test-cluster.js"

/** What came of a history. */
export interface Outcome {
  readonly seed: number
  /** What was not as it must be; empty in a good run. */
  readonly broken: readonly string[]
  readonly simulatedMs: number
  readonly counts: Readonly<Record<string, number>>
}

const usage = (name: string, what: string) => `${what}

  npm run simulate -- ${name} [--seeds 100] [--from 1] [--processes ${availableParallelism()}] [--verbose]

  --seeds      how many histories
  --from       the seed of the first one; --seeds 1 --from 17 repeats one
  --processes  how many histories at a time; one for each processor by default
  --verbose    prints a line for each event, one history at a time

Ctrl-C ends it after the present histories; it prints what was held until then.`

const seedsPerSum = 500

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/**
 * Holds as many histories as the command line asks for, and prints what came of them. Exits with 1 when one has failed.
 * @param name     of the simulation, for `npm run simulate`
 * @param what     is simulated, in a sentence
 * @param program  the file that calls `holdHistories`
 */
export async function runCampaign({ name, what, program }: { name: string; what: string; program: string }) {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "100" },
      from: { type: "string", default: "1" },
      processes: { type: "string", default: String(availableParallelism()) },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) return print(usage(name, what))
  const [seeds, from] = [numberOption("seeds", values.seeds, { least: 1 }), numberOption("from", values.from)]
  const processes = values.verbose ? 1 : Math.min(numberOption("processes", values.processes, { least: 1 }), seeds)
  const env = { ...process.env, SUPERSTEP_TEST_DATABASE_URI: await testCluster() }
  const startedAt = performance.now()
  let [next, simulatedMs, failed, held, isAsked] = [from, 0, 0, 0, false]
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => (isAsked = true))

  const printSum = () => {
    const [hours, seconds] = [simulatedMs / 3_600_000, (performance.now() - startedAt) / 1000]
    print(`${held} seeds, ${hours.toFixed(1)} simulated hours in ${seconds.toFixed(0)} s, ${failed} failed`)
  }
  const report = (outcome: Outcome): void => {
    held++
    simulatedMs += outcome.simulatedMs
    const { seed, broken, counts } = outcome
    if (values.verbose)
      print(`seed ${seed}: ${Math.round(outcome.simulatedMs / 60_000)} simulated minutes, ${JSON.stringify(counts)}`)
    if (broken.length > 0) {
      failed++
      print([`seed ${seed}:`, ...broken.map((what) => `  ${what}`)].join("\n"))
    }
    // What a campaign has held is known even if it does not come to its end.
    if (held % seedsPerSum === 0) printSum()
  }
  const work = (child: ChildProcess): Promise<void> =>
    new Promise((resolve, reject) => {
      child.on("message", (message: "ready" | Outcome) => {
        if (message !== "ready") report(message)
        if (isAsked || next === from + seeds) return child.disconnect()
        child.send(next++)
      })
      child.once("error", reject)
      child.once("exit", (code) =>
        code === 0 ? resolve() : reject(new Error(`a process of the simulation ended with ${code}: see above`)),
      )
    })
  const args = values.verbose ? ["--verbose"] : []
  await Promise.all(Array.from({ length: processes }, () => work(fork(program, args, { env }))))

  if (held === 0 || held % seedsPerSum !== 0) printSum()
  if (failed > 0) process.exitCode = 1
}

/** Holds the histories of the seeds that `runCampaign` sends, one after the other, and answers with what came of each. */
export async function holdHistories(
  hold: (seed: number, tell: ((line: string) => void) | undefined) => Promise<Outcome>,
): Promise<void> {
  // A terminal's Ctrl-C also reaches this process: the campaign says when to end.
  process.on("SIGINT", () => undefined)
  const tell = process.argv.includes("--verbose") ? (line: string) => print(line) : undefined
  const seeds = on(process, "message", { close: ["disconnect"] })
  process.send?.("ready")
  for await (const [seed] of seeds) {
    const outcome = await hold(seed, tell)
    // Its parent may be gone.
    if (process.connected) process.send?.(outcome)
  }
}

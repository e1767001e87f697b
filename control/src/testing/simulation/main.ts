/** `npm run simulate`: histories of the planner in simulated time, one a seed. */
import { type ChildProcess, fork } from "node:child_process"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { numberOption } from "@superstep/toolkit/testing/number-option"
import { testCluster } from "@superstep/toolkit/testing/test-cluster"
import type { Outcome } from "./simulate.js"

const usage = `Runs the planner, the pipeline and the reconciler in simulated time, on a real database.

  npm run simulate -- [--seeds 100] [--from 1] [--processes ${availableParallelism()}] [--verbose]

  --seeds      how many histories
  --from       the seed of the first one; --seeds 1 --from 17 repeats one
  --processes  how many histories at a time; one for each processor by default
  --verbose    prints a line for each event, one history at a time

Ctrl-C ends it after the present histories; it prints what was held until then.`

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const program = fileURLToPath(new URL("histories-main.js", import.meta.url))

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "100" },
      from: { type: "string", default: "1" },
      processes: { type: "string", default: String(availableParallelism()) },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) return print(usage)
  const [seeds, from] = [numberOption("seeds", values.seeds, { least: 1 }), numberOption("from", values.from)]
  const processes = values.verbose ? 1 : Math.min(numberOption("processes", values.processes, { least: 1 }), seeds)
  const env = { ...process.env, SUPERSTEP_TEST_DATABASE_URI: await testCluster() }
  const startedAt = performance.now()
  let [next, simulatedMs, failed, held, isAsked] = [from, 0, 0, 0, false]
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => (isAsked = true))

  const report = (outcome: Outcome): void => {
    held++
    simulatedMs += outcome.simulatedMs
    const { seed, broken, counts } = outcome
    if (values.verbose)
      print(`seed ${seed}: ${Math.round(outcome.simulatedMs / 60_000)} simulated minutes, ${JSON.stringify(counts)}`)
    if (broken.length === 0) return
    failed++
    print([`seed ${seed}:`, ...broken.map((what) => `  ${what}`)].join("\n"))
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

  const tookMs = performance.now() - startedAt
  print(
    `${held} seeds, ${(simulatedMs / 3_600_000).toFixed(1)} simulated hours in ${(tookMs / 1000).toFixed(0)} s, ${failed} failed`,
  )
  if (failed > 0) process.exitCode = 1
}

await main()

/** `npm run chaos`: kills until enough has been killed, tells each round, and ends with a table. */
import { mkdtempSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { languages as workerLanguages } from "@superstep/worker-js/testing/languages"
import { type ConversationsReport, conversationsCampaign, renderConversations } from "../conversations/campaign.js"
import { readHistory } from "../histories/call.js"
import { type DeploymentReport, deploymentCampaign, renderDeployments } from "../histories/deployment-campaign.js"
import { judgeHistory } from "../histories/judge.js"
import { serverOf, thisRelease } from "../testing/last-release.js"
import { aimsOf } from "./aims.js"
import { campaign } from "./campaign.js"
import { chaosLanguages } from "./languages.js"
import { type LossyReport, lossyCampaign, renderLossy } from "./lossy-campaign.js"
import { durabilityPage, promisesOf, unreached } from "./marks.js"
import { type ChaosOptions, parseOptions, usage } from "./options.js"
import type { OutageKind } from "./outage-kinds.js"
import { outagesCampaign, renderOutages } from "./outages.js"
import { renderReport, totalKills } from "./report.js"
import { renderWorkerCuts, type WorkerCutsReport, workerCutsCampaign } from "./worker-cuts.js"

// A campaign of this length that never reaches a promise has stopped testing it.
const killsThatReachAll = 500

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  if (!options) return console.log(usage)
  const language = chaosLanguages.find(({ name }) => name === options.language)
  if (language?.skip) throw new Error(language.skip)
  if (options.judged !== undefined) return judge(options.judged)
  console.log(`seed ${options.seed}`)
  const keepsCalls = options.histories || options.deployments || options.lossy || options.workerCuts
  const historiesFolder = keepsCalls ? mkdtempSync(join(tmpdir(), "superstep-histories-")) : undefined
  if (historiesFolder) console.log(`calls are written to ${historiesFolder}`)
  if (options.outages) return outages(options, options.outages)
  if (options.lossy) return lossy(options, historiesFolder)
  if (options.workerCuts) return workerCuts(options, historiesFolder, language?.env)
  if (options.deployments) return deployments(options, historiesFolder)
  if (options.conversations) return conversations(options)
  let told = 0
  const onRound = (report: Parameters<typeof renderReport>[0]) => {
    console.log(`${totalKills(report)} kills, ${report.runs} runs, ${report.broken.length} promises broken`)
    for (const { promise, detail } of report.broken.slice(told)) console.log(`  ${promise}: ${detail}`)
    told = report.broken.length
  }
  const mains = options.mixed === undefined ? [] : [{ folder: resolve(options.mixed) }, thisRelease].map(serverOf)
  const env = language && { env: language.env }
  const aims = aimsOf(options.aims)
  const { signal } = interrupted
  const { leaseSeconds } = options
  // With short leases, cuts of half a lease and of two.
  const cutMs = leaseSeconds === undefined ? undefined : [leaseSeconds * 500, leaseSeconds * 2000]
  const report = await campaign({ ...options, ...env, cutMs, mains, aims, historiesFolder, onRound, signal })
  console.log(`\n${renderReport(report)}`)
  const missing = unreached(promisesOf(readFileSync(durabilityPage, "utf8")), report)
  for (const { id, words } of missing) console.log(`not put to the test: ${id} ${words}`)
  const isLong = options.kills >= killsThatReachAll
  if (report.broken.length > 0 || (isLong && missing.length > 0)) process.exitCode = 1
}

async function deployments(options: ChaosOptions, folder: string | undefined): Promise<void> {
  const onRound = (report: DeploymentReport) => console.log(renderDeployments(report))
  const { faults } = await deploymentCampaign({ ...options, folder, onRound, signal: interrupted.signal })
  if (faults.length > 0) process.exitCode = 1
}

async function conversations({ seed, kills, language: wanted }: ChaosOptions): Promise<void> {
  const language = workerLanguages.find(({ name }) => name === wanted)
  if (!language) throw new Error(`there is no worker in ${wanted}`)
  const onRound = (report: ConversationsReport) => console.log(renderConversations(report))
  const options = { seed, conversations: kills, language, onRound, signal: interrupted.signal }
  const { broken } = await conversationsCampaign(options)
  if (broken.length > 0) process.exitCode = 1
}

async function outages({ seed, kills }: ChaosOptions, kinds: readonly OutageKind[]): Promise<void> {
  const onRound = (report: Parameters<typeof renderOutages>[0]) => console.log(renderOutages(report))
  const { broken } = await outagesCampaign({ seed, outages: kills, kinds, onRound, signal: interrupted.signal })
  if (broken.length > 0) process.exitCode = 1
}

async function lossy(options: ChaosOptions, folder: string | undefined): Promise<void> {
  const onRound = (report: LossyReport) => console.log(renderLossy(report))
  const { faults } = await lossyCampaign({ ...options, folder, onRound, signal: interrupted.signal })
  if (faults.length > 0) process.exitCode = 1
}

async function workerCuts(
  { seed, kills: faults }: ChaosOptions,
  folder: string | undefined,
  env: Readonly<Record<string, string>> | undefined,
): Promise<void> {
  const onRound = (report: WorkerCutsReport) => console.log(renderWorkerCuts(report))
  const { broken } = await workerCutsCampaign({ seed, faults, folder, env, onRound, signal: interrupted.signal })
  if (broken.length > 0) process.exitCode = 1
}

function judge(file: string): void {
  const { faults, undecided, threads, calls, unknown } = judgeHistory(readHistory(file))
  console.log(
    `${threads} threads, ${calls} calls, ${unknown} with an unknown outcome, ${undecided.length} threads undecided`,
  )
  for (const fault of faults) console.log(`\n${fault}`)
  if (faults.length > 0) process.exitCode = 1
}

// The first Ctrl-C ends a campaign after its round, with its report.
const interrupted = new AbortController()
process.on("SIGINT", () => {
  if (interrupted.signal.aborted) process.exit(1)
  interrupted.abort()
})
process.once("SIGTERM", () => process.exit(1))

main().catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})

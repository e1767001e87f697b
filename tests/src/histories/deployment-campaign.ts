/** Rounds in which several clients change deployments while the control plane is killed; a judge says whether any order explains what they saw. */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { smallProject } from "@superstep/control/pipeline/testing/platform"
import { platformWithRepository } from "@superstep/control/pipeline/testing/platform-with-repository"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { Recorder } from "./call.js"
import { type Deployment, type DeploymentCall, deploymentObject, describeDeployment } from "./deployment.js"
import { DeploymentClients, refs } from "./deployment-clients.js"
import { explain, type Words } from "./picture.js"
import { search } from "./search.js"

export interface DeploymentReport {
  readonly seed: number
  readonly kills: number
  readonly deployments: number
  readonly calls: number
  readonly unknown: number
  readonly undecided: readonly string[]
  readonly faults: readonly string[]
}

export interface DeploymentCampaignOptions {
  readonly seed: number
  /** How often the control plane is killed, at least. */
  readonly kills: number
  /** Where the calls of each round are written. */
  readonly folder?: string | undefined
  readonly onRound?: (report: DeploymentReport) => void
  /** Ends the campaign after the round that is held. */
  readonly signal?: AbortSignal
}

const deployments = 2
const mostStates = 200_000

export async function deploymentCampaign({
  seed,
  kills,
  folder = temporaryFolder(),
  onRound,
  signal,
}: DeploymentCampaignOptions): Promise<DeploymentReport> {
  await using platform = await platformWithRepository()
  for (const ref of refs) platform.repository.commit({ ...smallProject, "ref.txt": ref }, ref)
  const [schedule, times] = [seededRandom(seed), seededRandom(~seed)]
  let report: DeploymentReport = { seed, kills: 0, deployments: 0, calls: 0, unknown: 0, undecided: [], faults: [] }
  for (let round = 0; (round === 0 || report.kills < kills) && !signal?.aborted; round++) {
    const recorder = new Recorder<DeploymentCall>(join(folder, `seed-${seed}-deployments-${round}.jsonl`))
    const all = Array.from({ length: deployments }, (_, index) => {
      const shared = { name: `r${round}d${index}`, seed: schedule.between(0, 2 ** 31), clients: 3, calls: 8 }
      return new DeploymentClients(shared, platform, recorder)
    })
    await Promise.all(all.map((one) => one.create()))
    let isOver = false
    const written = Promise.all(all.map((one) => one.write())).finally(() => {
      isOver = true
    })
    let killed = 0
    while (!isOver) {
      // Three deaths in one stage end a revision (P5), so most revisions live through a stage between two of them.
      await Promise.race([written, sleep(times.between(1500, 6000))])
      if (isOver) break
      await platform.kill()
      killed++
      await sleep(times.pick([0, 100, 800]))
      await platform.start()
    }
    await written
    for (const one of all) await one.readLast()
    report = judged(
      { ...report, kills: report.kills + killed, deployments: report.deployments + all.length },
      all,
      recorder,
    )
    onRound?.(report)
    for (const one of all) await one.remove()
  }
  return report
}

function judged(
  report: DeploymentReport,
  all: readonly DeploymentClients[],
  { calls: recorded }: Recorder<DeploymentCall>,
): DeploymentReport {
  const [undecided, faults]: [string[], string[]] = [[], []]
  for (const clients of all) {
    const calls = recorded.filter(({ thread }) => thread === clients.name).map((call) => clients.named(call))
    const object = deploymentObject(clients.start, calls)
    const known = withEvidence(calls)
    const finding = search(object, known, mostStates)
    if (finding.is === "undecided") undecided.push(clients.name)
    if (finding.is === "impossible") faults.push(explain(clients.name, [object], known, { ...words, mostStates }))
    faults.push(...failures(calls).map((fault) => `${clients.name}: ${fault}`))
  }
  return {
    ...report,
    calls: report.calls + recorded.length,
    unknown: report.unknown + recorded.filter(({ outcome }) => outcome.is === "unknown").length,
    undecided: [...report.undecided, ...undecided],
    faults: [...report.faults, ...faults],
  }
}

/** A lost call whose revision is not in the list at the end never happened; one whose revision is there has happened by then. */
export function withEvidence(calls: readonly DeploymentCall[]): DeploymentCall[] {
  const last = calls.find(({ what }) => what.op === "list")
  const names = last?.outcome.is === "ok" ? last.outcome.value?.names : undefined
  return calls.flatMap((call) => {
    if (call.outcome.is !== "unknown" || !last || !names || !("revision" in call.what)) return [call]
    return names.includes(call.what.revision) ? [{ ...call, returnedAt: last.returnedAt }] : []
  })
}

/** The project is good, so a revision fails only when the control plane has died three times in one of its stages (P5). */
const failures = (calls: readonly DeploymentCall[]): string[] =>
  calls.flatMap(({ what, outcome }) => {
    const { status = "", error } = outcome.is === "ok" ? (outcome.value ?? {}) : {}
    return what.op === "revision" && status.endsWith("FAILED") && error !== "crash_loop_guard"
      ? [`${what.of} has ended as ${status}: ${error}`]
      : []
  })

const words: Words<Deployment, DeploymentCall> = {
  describe: ({ what }) => Object.values(what).join(" "),
  describeOutcome: ({ outcome }) => {
    if (outcome.is === "refused") return ["refused", outcome.status, outcome.why].join(" ")
    return outcome.is === "unknown" ? "unknown" : JSON.stringify(outcome.value ?? "ok")
  },
  describeState: describeDeployment,
}

export const renderDeployments = ({
  seed,
  kills,
  deployments,
  calls,
  unknown,
  undecided,
  faults,
}: DeploymentReport): string =>
  [
    `seed ${seed}: ${kills} kills of the control plane, ${deployments} deployments, ${calls} calls, of which ${unknown} unknown, ${undecided.length} deployments undecided`,
    `histories that no order explains: ${faults.length}`,
    ...faults,
  ].join("\n")

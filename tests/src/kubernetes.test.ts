/** What only a cluster does to agents: its API server goes away, and a node is drained. No run that was accepted is lost. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { type Pod, pathsIn } from "@superstep/machines/kubernetes/cluster/objects"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { clientOf, type Deployment, deploy, startRevision, untilDeployed } from "./testing/deployments.js"
import type { Platform } from "./testing/installation.js"
import { type KubernetesOfTests, kubernetesOfTests } from "./testing/machines/kubernetes.js"
import { machineOfRun } from "./testing/machines/machine-of-run.js"
import { startLocalPlatform } from "./testing/platform.js"
import { createRepository, type Repository, versionFile } from "./testing/repository.js"
import { type EndedRun, keepRunning, type SteadyRuns } from "./testing/steady-runs.js"

const skip = machineOfRun !== "kubernetes" && "needs SUPERSTEP_TEST_MACHINE=kubernetes and .ci/kubernetes"

// How many runs end while the API server is away. Five minutes, tried by hand, are 750.
const runsWhileAway = Number(process.env.SUPERSTEP_TEST_AWAY_RUNS ?? 20)

let machine: KubernetesOfTests
let platform: Platform
let repository: Repository
let deployment: Deployment
before(async () => {
  if (skip) return
  const home = temporaryFolder()
  machine = await kubernetesOfTests(home)
  platform = await startLocalPlatform({ home, machine })
  repository = await createRepository()
  deployment = await deploy(platform, "steady", repository.url, [{ name: "N_JOBS_PER_WORKER", value: "50" }])
})
after(() => platform?.[Symbol.asyncDispose]())

/** Each takes four seconds, and ten are under way at a time. */
const startRuns = () => keepRunning(clientOf(platform, deployment), { count: 10, steps: 40, everyMs: 100 })

const untilEnded = (runs: SteadyRuns, count: number) => {
  const wanted = runs.endedCount() + count
  return until(() => runs.endedCount() >= wanted, { what: `${count} more runs have ended`, timeoutMs: 600_000 })
}

function assertWhole(ended: readonly EndedRun[]): void {
  assert.deepEqual([...new Set(ended.map(({ problem }) => problem))], [""])
}

test("while the API server hangs and is away runs go on, none is lost, and the platform recovers by itself", {
  skip,
}, async () => {
  const { cluster } = machine
  const controlPid = await platform.controlPid()
  const [unit] = await machine.running()
  assert.ok(unit)
  await using runs = startRuns()
  await untilEnded(runs, 5)

  cluster.pauseServer()
  await untilEnded(runs, runsWhileAway / 2)
  await cluster.killServer()
  await untilEnded(runs, runsWhileAway / 2)
  await machine.kill(unit)
  await cluster.startServer()
  await untilEnded(runs, 20)
  await repository.push(versionFile("after"))
  await untilDeployed(platform, deployment.id, await startRevision(platform, deployment.id))

  const ended = await runs.stop()
  assertWhole(ended)
  assert.ok(
    ended.some(({ resumed }) => resumed > 0),
    "no stream was cut",
  )
  assert.equal(await platform.controlPid(), controlPid, "the control plane was started again")
})

test("a drained node moves the agent to another one, and no run is lost", { skip }, async () => {
  const { cluster, namespace } = machine
  const { pods } = pathsIn(namespace)
  const other = await cluster.addNode("other-node")
  await using runs = startRuns()
  await untilEnded(runs, 5)
  const podsOn = async (node: string) => {
    const { body } = await cluster.admin.json<{ items: readonly Pod[] }>(pods)
    return body.items.filter(({ spec }) => spec.nodeName === node)
  }

  // As `kubectl drain`: no new pods for the node, and an eviction of each that it has, with the pod's own grace time.
  const patch = { method: "PATCH", contentType: "application/merge-patch+json" } as const
  await cluster.admin.json(`/api/v1/nodes/${cluster.node.name}`, { ...patch, body: { spec: { unschedulable: true } } })
  for (const { metadata } of await podsOn(cluster.node.name)) {
    const { name } = metadata
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } }
    await cluster.admin.json(`${pods}/${name}/eviction`, { method: "POST", body })
  }
  await until(async () => (await podsOn(cluster.node.name)).length === 0, { what: "the node is empty" })
  await untilEnded(runs, 20)

  // An agent that finishes its runs in its grace time cuts no stream.
  assertWhole(await runs.stop())
  assert.equal((await podsOn(other.name)).length, 1)
})

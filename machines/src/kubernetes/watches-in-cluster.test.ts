/** What a real API server is asked while pods wait, and what becomes of units when watches break. */
import assert from "node:assert/strict"
import type { IncomingMessage } from "node:http"
import { after, before, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { until } from "@superstep/toolkit/testing/until"
import { realClock } from "@superstep/toolkit/time/clock"
import type { UnitSpec } from "../port/port.js"
import { unitSpec } from "../port/testing/unit-spec.js"
import { type Cluster, ClusterFailed } from "./cluster/cluster.js"
import { labels, nameOf, type Pod, pathsIn } from "./cluster/objects.js"
import { ownedObjects } from "./cluster/owned-objects.js"
import { kubernetesPlace, newNamespace, noCluster as skip, type TestCluster, testCluster } from "./testing/place.js"
import { requestsSeen } from "./testing/requests-seen.js"
import { machineRules } from "./testing/rights.js"

let tested: TestCluster

before(async () => {
  if (!skip) tested = await testCluster()
})
after(async () => {
  if (!skip) await tested.stop()
})

const tooMuchMb = 1_000_000
const unitOf = ({ artifactId }: { artifactId: string }, memoryMb?: number): UnitSpec =>
  unitSpec({ artifactId, limits: { memoryMb, cpu: undefined } })

/** How many requests a hundred looks cost, after a first one. */
async function costOf(look: () => Promise<void>): Promise<number> {
  await look()
  const before = await requestsSeen(tested.admin)
  for (let time = 0; time < 100; time++) {
    await look()
    await sleep(20)
  }
  return (await requestsSeen(tested.admin)) - before
}

test("a unit that has exited costs the API server no request while what its Secret said counts", { skip }, async () => {
  const clock = { now: () => 0, after: realClock.after }
  const place = await kubernetesPlace(tested, { clock })
  const units = place.units()
  const unit = unitOf(place)
  const { unitId } = unit
  await units.start(unit)
  await units.kill(unitId)

  const cost = await costOf(async () => {
    assert.deepEqual(await units.status(unitId), { state: "exited" })
    assert.equal(await units.watchLogs(unitId, () => undefined), undefined)
  })

  assert.equal(cost, 0)
  await units.stop(unitId, { graceMs: 0 })
  assert.deepEqual(await units.status(unitId), { state: "absent" })
  await units.remove(unitId)
})

test("a unit whose pod waits for a node costs the API server no request, however often it is looked at", {
  skip,
}, async () => {
  const place = await kubernetesPlace(tested)
  const units = place.units()
  const unit = unitOf(place, tooMuchMb)
  const { unitId } = unit
  const path = `${pathsIn(place.namespace).pods}/${nameOf(unitId)}`
  const isWaiting = async () => {
    const { body } = await tested.admin.json<Pod>(path, { also: [404] })
    return body.status?.conditions?.some(({ type, status }) => type === "PodScheduled" && status === "False")
  }
  const starting = units.start(unit)
  await until(isWaiting, { what: "no node has room for the pod" })
  const look = async () => {
    assert.deepEqual(await units.status(unitId), { state: "absent" })
    assert.deepEqual(await units.logs(unitId, ""), { lines: [], next: "" })
    assert.equal(await units.watchLogs(unitId, () => undefined), undefined)
    assert.deepEqual(await units.list(), [unitId])
  }

  assert.equal(await costOf(look), 0)
  await tested.admin.json(path, { method: "DELETE" })
  await starting
  await units.stop(unitId, { graceMs: 0 })
  await units.remove(unitId)
})

/** Reaches the API server over watches that a test breaks. */
function breakable(cluster: Cluster) {
  const open = new Set<IncomingMessage>()
  let versions: string[] = []
  const through: Cluster = {
    ...cluster,
    stream: async (path, request = {}) => {
      const { query = {} } = request
      if (query.watch === undefined) return cluster.stream(path, request)
      const [resourceVersion = query.resourceVersion ?? ""] = versions.splice(0, 1)
      const response = await cluster.stream(path, { ...request, query: { ...query, resourceVersion } })
      open.add(response.once("close", () => open.delete(response)))
      return response
    },
  }
  return {
    through,
    count: () => open.size,
    cut: () => {
      for (const response of open) response.destroy()
    },
    /** The next watch goes on from this version. */
    goOnFrom: (version: string) => {
      versions = [version]
    },
  }
}

// A watch that breaks sooner has failed.
const lastingMs = 1100

test("a unit is known as it is after its watch was cut, and after a version that the API server no longer has", {
  skip,
}, async () => {
  const watches = breakable(tested.machine)
  const place = await kubernetesPlace(tested, { cluster: watches.through })
  const units = place.units()
  const unit = unitOf(place)
  const { unitId } = unit
  const isState = (wanted: string) => async () => (await units.status(unitId)).state === wanted

  await units.list()
  assert.equal(watches.count(), 2)
  const starting = units.start(unit)
  await sleep(lastingMs)
  watches.cut()
  await starting
  const afterStart = await units.status(unitId)
  await sleep(lastingMs)
  // The server has the changes of some minutes.
  watches.goOnFrom("1")
  watches.cut()
  const afterGone = await units.status(unitId)
  process.kill(await place.pidOf(unitId), "SIGKILL")
  await until(isState("exited"), { what: "its end is known" })
  await units.stop(unitId, { graceMs: 0 })
  await units.remove(unitId)

  assert.deepEqual([afterStart, afterGone], [{ state: "running" }, { state: "running" }])
  assert.deepEqual(await units.status(unitId), { state: "absent" })
  assert.deepEqual(await units.list(), [])
})

test("a look after an action of ours shows that action, however soon it comes (W1)", { skip }, async () => {
  const place = await kubernetesPlace(tested)
  const units = place.units()
  const unit = unitOf(place)
  const { unitId } = unit
  const seen: object[] = []
  const look = async () => void seen.push([(await units.status(unitId)).state, await units.list()])

  for (let life = 0; life < 3; life++) {
    await units.start(unit)
    await look()
    await units.kill(unitId)
    await look()
    await units.start(unit)
    await units.stop(unitId, { graceMs: 0 })
    await look()
    await units.remove(unitId)
    await look()
  }

  const life = [
    ["running", [unitId]],
    ["exited", [unitId]],
    ["absent", [unitId]],
    ["absent", []],
  ]
  assert.deepEqual(seen, [...life, ...life, ...life])
})

test("a read after an annotation of ours shows that annotation, however soon it comes (W1)", { skip }, async () => {
  const path = pathsIn(await newNamespace(tested)).services
  const objects = ownedObjects(tested.machine, "home")
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "annotated", labels: { [labels.owner]: "home" } },
    spec: { ports: [{ port: 80 }] },
  }
  const shown: (string | undefined)[] = []
  const times = Array.from({ length: 50 }, (_, time) => String(time))

  try {
    await objects.apply(path, service)
    for (const time of times) {
      await objects.annotate(path, "annotated", { time })
      shown.push((await objects.watched(path).find("annotated"))?.metadata.annotations?.time)
    }
  } finally {
    await objects.close()
  }

  assert.deepEqual(shown, times)
})

test("a role without the verb watch is refused with words that name it", { skip }, async () => {
  const namespace = await newNamespace(tested)
  const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/superstep-machine`
  const rules = machineRules.map(({ verbs, ...rule }) => ({ ...rule, verbs: verbs.filter((it) => it !== "watch") }))
  await tested.admin.json(role, {
    method: "PATCH",
    contentType: "application/merge-patch+json",
    body: { rules },
  })
  const isRefused = async () => {
    const objects = ownedObjects(tested.machine, "home")
    try {
      await objects.watched(pathsIn(namespace).pods).list()
      return undefined
    } catch (error) {
      return error instanceof ClusterFailed && error.status === 403 ? error.message : undefined
    } finally {
      await objects.close()
    }
  }

  const message = await until(isRefused, { what: "the rights are in force" })

  assert.match(message, /cannot watch resource "pods".*the role of the control plane needs the verb "watch" for pods/)
})

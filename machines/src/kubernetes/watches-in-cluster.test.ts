/** What a real API server is asked while pods wait, and what becomes of units when watches break. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { until } from "@superstep/toolkit/testing/until"
import { realClock } from "@superstep/toolkit/time/clock"
import type { UnitSpec } from "../port/port.js"
import { unitSpec } from "../port/testing/unit-spec.js"
import { nameOf, type Pod, pathsIn } from "./cluster/objects.js"
import { clusterOfFile, kubernetesPlace, noCluster as skip } from "./testing/place.js"
import { requestsSeen } from "./testing/requests-seen.js"

const tested = clusterOfFile()

const tooMuchMb = 1_000_000
const unitOf = ({ artifactId }: { artifactId: string }, memoryMb?: number): UnitSpec =>
  unitSpec({ artifactId, limits: { memoryMb, cpu: undefined } })

/** How many requests a hundred looks cost, after a first one. */
async function costOf(look: () => Promise<void>): Promise<number> {
  await look()
  const before = await requestsSeen(tested().admin)
  for (let time = 0; time < 100; time++) {
    await look()
    await sleep(20)
  }
  return (await requestsSeen(tested().admin)) - before
}

test("a unit that has exited costs the API server no request while what its Secret said counts", { skip }, async () => {
  const clock = { now: () => 0, after: realClock.after }
  const place = await kubernetesPlace(tested(), { clock })
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
  const place = await kubernetesPlace(tested())
  const units = place.units()
  const unit = unitOf(place, tooMuchMb)
  const { unitId } = unit
  const path = `${pathsIn(place.namespace).pods}/${nameOf(unitId)}`
  const isWaiting = async () => {
    const { body } = await tested().admin.json<Pod>(path, { also: [404] })
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
  await tested().admin.json(path, { method: "DELETE" })
  await starting
  await units.stop(unitId, { graceMs: 0 })
  await units.remove(unitId)
})

test("a look after an action of ours shows that action, however soon it comes (W1)", { skip }, async () => {
  const place = await kubernetesPlace(tested())
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

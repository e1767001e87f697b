import assert from "node:assert/strict"
import { mkdirSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { secretsOf } from "@superstep/toolkit/config/settings"
import { createLog } from "@superstep/toolkit/log/log"
import { testUnless } from "@superstep/toolkit/testing/test-unless"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as newId } from "uuid"
import { startedUnit } from "../port/testing/started-unit.js"
import { unitSpec } from "../port/testing/unit-spec.js"
import { ask } from "../unit-client/unit-request.js"
import { ClusterFailed } from "./cluster/cluster.js"
import { type KubernetesObject, labels, nameOf, pathsIn, unitPort } from "./cluster/objects.js"
import { ForeignObject } from "./cluster/owned-objects.js"
import { clusterOfFile, kubernetesPlace, noCluster } from "./testing/place.js"
import { grantRights } from "./testing/rights.js"

const test = testUnless(noCluster)
const tested = clusterOfFile()

type Place = Awaited<ReturnType<typeof kubernetesPlace>>

async function started(place: Place, variables: Record<string, string> = {}, memoryMb?: number) {
  const limits = { memoryMb, cpu: undefined }
  const given = await startedUnit(place, { secrets: secretsOf(variables), limits })
  const { units, unit, unitId, answers } = given
  /** Starts it again after its exit. */
  const startAgain = async () => {
    await units.start(unit)
    await answers()
  }
  const untilExited = () =>
    until(
      async () => {
        const now = await units.status(unitId)
        return now.state === "exited" && now
      },
      { what: "its end is known" },
    )
  return { ...given, startAgain, untilExited }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test("while the API server is away units run on, and afterwards each is known as it is, with all its output", async () => {
  const place = await kubernetesPlace(tested())
  const { units, unit, unitId, addressOf, untilExited, end } = await started(place)
  const other = await started(place)
  const pid = await place.pidOf(unitId)
  const otherPid = await place.pidOf(other.unitId)
  const podIp = (await place.podOf(unitId))?.status?.podIP ?? ""
  const { next } = await units.logs(unitId, "")

  await tested().killServer()
  const isUnknown = (error: Error) => error instanceof ClusterFailed && error.status === undefined
  await assert.rejects(units.status(unitId), isUnknown)
  await assert.rejects(units.start(unit), isUnknown)
  await assert.rejects(units.stop(unitId, { graceMs: 0 }), isUnknown)
  await assert.rejects(units.list(), isUnknown)
  const answer = await ask(addressOf(`http://${podIp}:${unitPort}`), "GET", "/ok")
  process.kill(otherPid, "SIGKILL")
  await tested().startServer()

  assert.match(answer.body, /true/)
  await until(() => units.status(unitId).catch(() => undefined), { what: "units are known again" })
  await units.start(unit)
  assert.deepEqual(await units.status(unitId), { state: "running" })
  assert.equal(await place.pidOf(unitId), pid)
  assert.deepEqual((await units.logs(unitId, next)).lines, [])
  await other.untilExited()
  await other.end()
  await units.kill(unitId)
  await untilExited()
  await end()
})

test("objects of our names that are somebody else's are neither used, changed nor deleted (K1)", async () => {
  const place = await kubernetesPlace(tested())
  const units = place.units()
  const unit = unitSpec({ artifactId: place.artifactId })
  const name = nameOf(unit.unitId)
  const paths = pathsIn(place.namespace)
  const container = { name: "theirs", image: "theirs:1" }
  const theirs = [
    [paths.services, { metadata: { name }, spec: { ports: [{ port: 80 }] } }],
    [paths.secrets, { metadata: { name }, data: {} }],
    // Of another installation of ours.
    [
      paths.pods,
      {
        metadata: { name, labels: { [labels.owner]: newId() } },
        spec: { nodeName: "no-node", containers: [container] },
      },
    ],
  ] as const
  for (const [path, body] of theirs) await tested().admin.json(path, { method: "POST", body })
  const seen = () =>
    Promise.all(
      theirs.map(async ([path]) => (await tested().admin.json<KubernetesObject>(`${path}/${name}`)).body.metadata),
    )
  const before = await seen()

  await assert.rejects(units.start(unit), ForeignObject)
  await units.kill(unit.unitId)
  await units.stop(unit.unitId, { graceMs: 0 })
  await units.remove(unit.unitId)

  assert.deepEqual(await seen(), before)
  assert.deepEqual(await units.status(unit.unitId), { state: "absent" })
  assert.deepEqual(await units.list(), [])
})

test("a pod that was evicted, or deleted by somebody else, has exited, and starts again at the same address (K4, K6)", async () => {
  const place = await kubernetesPlace(tested())
  const { units, unitId, startAgain, untilExited, end } = await started(place)
  const address = units.address(unitId)
  const pod = `${pathsIn(place.namespace).pods}/${nameOf(unitId)}`
  const metadata = { name: nameOf(unitId), namespace: place.namespace }
  const evict = { apiVersion: "policy/v1", kind: "Eviction", metadata, deleteOptions: { gracePeriodSeconds: 1 } }

  await tested().admin.json(`${pod}/eviction`, { method: "POST", body: evict })
  const evicted = await untilExited()
  await startAgain()
  await tested().node.evict((await place.podOf(unitId))?.metadata.uid ?? "", "The node was low on resource: memory.")
  const evictedByNode = await untilExited()
  await startAgain()
  await tested().admin.json(pod, { method: "DELETE", body: { gracePeriodSeconds: 0 } })
  const deleted = await untilExited()
  await startAgain()
  await units.kill(unitId)
  const killed = await untilExited()
  await startAgain()

  assert.equal(units.address(unitId), address)
  const ends = [evicted, evictedByNode, deleted, killed].map(({ isDisrupted }) => isDisrupted)
  assert.deepEqual(ends, [true, true, true, undefined])
  await end()
})

test("a unit whose pod the cluster refuses has exited by itself: nobody else has ended it (K4)", async () => {
  const place = await kubernetesPlace(tested(), {
    beforeApply: async (path) => {
      if (path.endsWith("/pods")) throw new ClusterFailed("exceeded quota", 403)
    },
  })
  const units = place.units()
  const unit = unitSpec({ artifactId: place.artifactId })

  await assert.rejects(units.start(unit), /exceeded quota/)

  assert.deepEqual(await units.status(unit.unitId), { state: "exited" })
  await units.stop(unit.unitId, { graceMs: 0 })
  await units.remove(unit.unitId)
})

test("a unit that is being started has not exited while it has its Secret and no pod yet (K4)", async () => {
  const seen: string[] = []
  const place = await kubernetesPlace(tested(), {
    beforeApply: async (path) => {
      if (path.endsWith("/pods")) seen.push((await units.status(unit.unitId)).state)
    },
  })
  const units = place.units()
  const unit = unitSpec({ artifactId: place.artifactId })

  await units.start(unit)
  await units.kill(unit.unitId)
  await units.start(unit)

  assert.deepEqual(seen, ["absent", "absent"])
  await units.stop(unit.unitId, { graceMs: 0 })
  await units.remove(unit.unitId)
})

test("a stop and a kill end a unit whose last output cannot be kept, and the log says so (R5)", async () => {
  const lines: string[] = []
  const log = createLog({ process: "control", level: "warn" }, { write: (line) => lines.push(line) })
  const place = await kubernetesPlace(tested(), { log })
  const { units, unitId, startAgain, untilExited, end } = await started(place)
  const ends = [() => units.kill(unitId), () => units.stop(unitId, { graceMs: 1000 })]

  for (const [life, endIt] of ends.entries()) {
    // As a full disk answers.
    const { creationTimestamp, uid } = (await place.podOf(unitId))?.metadata ?? {}
    const folder = join(place.folder, unitId, "unread")
    mkdirSync(folder, { recursive: true })
    const file = join(folder, `${creationTimestamp}_${uid}`)
    symlinkSync("/dev/full", file)
    const pid = await place.pidOf(unitId)

    await endIt()

    assert.equal(isAlive(pid), false)
    assert.match(lines[life] ?? "", new RegExp(`ENOSPC.*${unitId}.*could not be kept`))
    assert.equal(lines.length, life + 1)
    rmSync(file)
    if (life > 0) continue
    await untilExited()
    await startAgain()
  }
  assert.deepEqual(await units.status(unitId), { state: "absent" })
  await end()
})

test("a unit that uses more than its memory is reported with its limit (R3)", async () => {
  const { addressOf, untilExited, end } = await started(await kubernetesPlace(tested()), { FAKE_SWELLS_MB: "600" }, 160)

  // It ends the unit, which then answers nothing.
  void ask(addressOf(), "GET", "/swell").catch(() => undefined)

  assert.deepEqual(await untilExited(), { state: "exited", ranOutOfMb: 160 })
  await end()
})

test("a pod of a lost node is given up, and its processes end when the node is back", async () => {
  const place = await kubernetesPlace(tested(), { lostMs: 300 })
  const { units, unitId, startAgain, end } = await started(place)
  const former = await place.pidOf(unitId)

  tested().node.lose()
  await units.kill(unitId)
  const given = await units.status(unitId)
  const ranOn = isAlive(former)
  tested().node.comeBack()
  await startAgain()

  assert.deepEqual(given, { state: "exited" })
  assert.equal(ranOn, true)
  assert.notEqual(await place.pidOf(unitId), former)
  await until(() => !isAlive(former), { what: "its former life has ended" })
  await end()
})

test("who deletes the Service of a unit deletes all of it, and it starts again; a stop and a removal leave nothing either (K5, R5)", async () => {
  const place = await kubernetesPlace(tested())
  const { units, unitId, startAgain, end } = await started(place)
  const paths = pathsIn(place.namespace)
  // The machine itself may not list secrets.
  const all = async () => {
    const lists = await Promise.all(
      [paths.pods, paths.services, paths.secrets].map((path) =>
        tested().admin.json<{ readonly items: readonly KubernetesObject[] }>(path),
      ),
    )
    return lists.flatMap(({ body }) => body.items).filter(({ metadata }) => metadata.labels?.[labels.owner]).length
  }
  const before = await all()

  await tested().admin.json(`${paths.services}/${nameOf(unitId)}`, { method: "DELETE" })
  await until(async () => (await units.status(unitId)).state === "absent", { what: "its objects are gone" })
  await startAgain()
  await end()

  assert.equal(before, 3)
  await until(async () => (await all()) === 0, { what: "all its objects are gone" })
})

test("an error says that somebody has deleted the namespace, and units start again when it is back", async () => {
  const place = await kubernetesPlace(tested())
  const { units, unit, unitId, startAgain, end } = await started(place)
  const path = `/api/v1/namespaces/${place.namespace}`

  await tested().admin.json(path, { method: "DELETE" })
  const isGone = async () => (await tested().admin.json(path, { also: [404] })).status === 404
  await until(isGone, { what: "the namespace is gone", timeoutMs: 120_000 })
  const isRefused = (error: Error) => error instanceof ClusterFailed && error.status !== undefined
  await assert.rejects(units.start(unit), isRefused)
  await tested().admin.json("/api/v1/namespaces", { method: "POST", body: { metadata: { name: place.namespace } } })
  await grantRights(tested().admin, place.namespace)
  await until(() => units.status(unitId).catch(() => undefined), { what: "the rights are in force" })
  const status = await units.status(unitId)
  await startAgain()

  assert.deepEqual(status, { state: "absent" })
  await end()
})

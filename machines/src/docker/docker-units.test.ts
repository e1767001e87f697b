import assert from "node:assert/strict"
import { existsSync, rmSync, writeFileSync } from "node:fs"
import { after } from "node:test"
import { Secret, secretsOf } from "@superstep/toolkit/config/settings"
import { testUnless } from "@superstep/toolkit/testing/test-unless"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as newId } from "uuid"
import { unitSocket } from "../parts/files/folders.js"
import { isolatedUser } from "../parts/isolation/isolation.js"
import { unitsConformance } from "../port/testing/conformance.js"
import { startedUnit } from "../port/testing/started-unit.js"
import { unitSpec } from "../port/testing/unit-spec.js"
import { ask as askUnit } from "../unit-client/unit-request.js"
import { removeLeftProbes } from "./base-image.js"
import { foundDockerUnits } from "./found-units.js"
import { ensureNetwork, ForeignNetwork, ownNetwork, removeNetwork } from "./network.js"
import { baseReference, dockerPlace, noEngine, removeTestImages, testEngine } from "./testing/place.js"
import { ForeignContainer } from "./units.js"

// The engine is root's.
unitsConformance("containers", () => dockerPlace({ user: isolatedUser }), noEngine)

after(removeTestImages)

const test = testUnless(noEngine)
type Place = ReturnType<typeof dockerPlace>

const started = async (place: Place, variables: Record<string, string> = {}, memoryMb?: number) => {
  const databaseUri = new Secret("postgres://unit:of-the-database@localhost/unit")
  const unit = await startedUnit(place, { databaseUri, secrets: secretsOf(variables), limits: { memoryMb, cpu: 1 } })
  const ask = async (path: string) => (await askUnit(unit.addressOf(), "GET", path)).body
  return { ...unit, ask }
}

test("an engine shows no secret of a unit, and its container has no rights and a read-only image (M2, M4)", async () => {
  const place = dockerPlace({ user: () => ({ uid: 200_077, gid: 200_077 }) })
  const looks = "id -u; cat /proc/1/status; touch /x; touch /superstep/app/x; touch $HOME/x && echo home-is-writable"
  const { units, unitId, ask, end } = await started(
    place,
    { MODEL_KEY: "sk-hidden", OTEL_EXPORTER_OTLP_ENDPOINT: "https://user:of-traces@collector", FAKE_COMMAND: looks },
    256,
  )

  const found = await place.containers.find(unitId)
  const { body } = await place.engine.json<{ HostConfig: object }>(`/containers/${found?.id}/json`)
  const shown = JSON.stringify(body)
  const inside = JSON.parse(await ask("/sh")) as { output: string }

  for (const secret of ["sk-hidden", "unit-token", "of-the-database", "of-the-proxy", "of-traces"])
    assert.ok(!shown.includes(secret), secret)
  assert.match(inside.output, /^200077$/m)
  assert.match(inside.output, /^CapEff:\s+0+$/m)
  assert.match(inside.output, /^NoNewPrivs:\s+1$/m)
  assert.match(inside.output, /home-is-writable/)
  assert.equal(inside.output.match(/Read-only file system/g)?.length, 2)
  assert.equal((await units.memoryMb([unitId])).size, 0, "the engine enforces its limit")
  assert.ok(((await units.usage([unitId])).get(unitId)?.[0]?.rssBytes ?? 0) > 0)
  await end()
})

test("a unit that uses more than its memory is reported with its limit (R3)", async () => {
  const { units, unitId, ask, end } = await started(dockerPlace(), { FAKE_SWELLS_MB: "600" }, 160)

  // It ends the unit, which then answers nothing.
  void ask("/swell").catch(() => undefined)
  const ended = await until(
    async () => {
      const now = await units.status(unitId)
      return now.state === "exited" && now
    },
    { what: "it was killed" },
  )

  assert.deepEqual(ended, { state: "exited", ranOutOfMb: 160 })
  await end()
})

test("each line of a unit's output is read once and in order, also a long one, by whichever control plane, and after its end (R6)", async () => {
  const place = dockerPlace()
  const { units, unitId, ask, end } = await started(place, { FAKE_SAYS: "/superstep/unit/data/says.txt" })
  const say = async (text: string) => {
    writeFileSync(`${place.folders.units}/${unitId}/data/says.txt`, text)
    await ask("/say")
  }
  let changes = 0
  const stopWatching = await units.watchLogs(unitId, () => changes++)
  const first = await units.logs(unitId, "")

  // The engine stores a line in parts of 16 KB, and the rest of it when it is complete.
  await say("x".repeat(40_000))
  await until(() => changes > 0, { what: "the watch reports output" })
  const half = await units.logs(unitId, first.next)
  await say("yyy\nshort\n")
  const whole = await until(
    async () => {
      const found = await units.logs(unitId, first.next)
      return found.lines.includes("short") && found
    },
    { what: "the lines are complete" },
  )
  const again = await place.units().logs(unitId, first.next)
  const silent = await units.logs(unitId, whole.next)
  await say("no end")
  stopWatching?.()
  await units.stop(unitId, { graceMs: 5000 })
  const last = await place.units().logs(unitId, whole.next)

  assert.deepEqual(half, { lines: [], next: first.next })
  assert.deepEqual(whole.lines, [`${"x".repeat(40_000)}yyy`, "short"])
  assert.deepEqual(again, whole)
  assert.deepEqual(silent, { lines: [], next: whole.next })
  assert.equal(last.lines.length, 1)
  assert.match(last.lines[0] ?? "", /^no end.*unit stops/)
  assert.deepEqual(await place.units().logs(unitId, last.next), { lines: [], next: last.next })
  await end()
})

test("nothing without our label is listed, stopped or removed (M1)", async () => {
  const place = dockerPlace()
  const units = place.units()
  const unit = unitSpec({ artifactId: place.artifactId })
  const engine = testEngine()
  const name = `superstep-unit-${unit.unitId}`
  const body = { Image: baseReference, Cmd: ["sleep", "600"], HostConfig: { NetworkMode: "none" } }
  const foreign = await engine.json<{ Id: string }>("/containers/create", { method: "POST", query: { name }, body })
  await engine.json(`/containers/${foreign.body.Id}/start`, { method: "POST" })

  await assert.rejects(units.start(unit), ForeignContainer)
  await units.kill(unit.unitId)
  await units.stop(unit.unitId, { graceMs: 0 })
  await units.remove(unit.unitId)

  const { body: seen } = await engine.json<{ State: { Running: boolean } }>(`/containers/${foreign.body.Id}/json`)
  assert.equal(seen.State.Running, true)
  assert.deepEqual(await units.status(unit.unitId), { state: "absent" })
  assert.deepEqual(await units.list(), [])
  await engine.json(`/containers/${foreign.body.Id}`, { method: "DELETE", query: { force: "1" } })
})

test("what a killed look into an image left behind is removed, and nothing else", async () => {
  const engine = testEngine()
  const create = async (label: string) => {
    const body = { Image: baseReference, Cmd: ["true"], Labels: { [label]: "1" } }
    return (await engine.json<{ Id: string }>("/containers/create", { method: "POST", body })).body.Id
  }
  const statusOf = async (id: string) => (await engine.json(`/containers/${id}/json`, { also: [404] })).status
  const [left, foreign] = [await create("superstep.probe"), await create("somebody")]
  try {
    // Another installation may be looking with it.
    await removeLeftProbes(engine)
    assert.equal(await statusOf(left), 200)

    await removeLeftProbes(engine, String(Math.ceil(Date.now() / 1000) + 60))

    assert.deepEqual([await statusOf(left), await statusOf(foreign)], [404, 200])
  } finally {
    for (const id of [left, foreign]) await engine.json(`/containers/${id}`, { method: "DELETE", also: [404] })
  }
})

test("a network of our name without our label is neither used nor removed (M1)", async () => {
  const engine = testEngine()
  const homeId = newId()
  const name = ownNetwork(homeId)
  await engine.json("/networks/create", { method: "POST", body: { Name: name, Driver: "bridge" } })

  await assert.rejects(ensureNetwork(engine, homeId), ForeignNetwork)
  await removeNetwork(engine, homeId)

  await engine.json(`/networks/${name}`, { method: "DELETE" })
  assert.equal(await ensureNetwork(engine, homeId), name)
  assert.equal(await ensureNetwork(engine, homeId), name)
  await removeNetwork(engine, homeId)
  assert.equal((await engine.json(`/networks/${name}`, { also: [404] })).status, 404)
})

test("an image that the engine has lost is made again at the next start", async () => {
  const place = dockerPlace()
  const { units, unit, unitId, answers, end } = await started(place)
  await units.stop(unitId, { graceMs: 0 })
  await place.removeImage()

  await units.start(unit)

  await answers()
  await end()
})

test("a program that only finds units publishes no socket, since it does not know the edge's group", async () => {
  const place = dockerPlace()
  const { units, unitId, end } = await started(place)
  const path = unitSocket(place.folders, unitId)
  rmSync(path)

  const found = foundDockerUnits(place.folders, place.homeId, place.engine.socketPath)

  assert.deepEqual(await found.status(unitId), { state: "running" })
  assert.equal(existsSync(path), false)
  assert.deepEqual(await units.status(unitId), { state: "running" })
  assert.equal(existsSync(path), true)
  await end()
})

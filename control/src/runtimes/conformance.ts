/** One suite that every runtime passes (port.ts, R1–R6). A unit is the fake one, which speaks protocol/unit. */
import assert from "node:assert/strict"
import test from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as newId } from "uuid"
import type { Runtime, UnitSpec } from "./port.js"
import { askStatus } from "./unit-client.js"

export interface RuntimeUnderTest {
  /** A runtime on this place; called again, it is what a restarted control plane makes. */
  open(): Runtime
  /** A folder with `langgraph.json`. */
  readonly artifactFolder: string
}

const token = new Secret("unit-token")

/**
 * @param prepare  makes a new place for each test
 * @param skip     why it cannot run here
 */
export function runtimeConformance(name: string, prepare: () => RuntimeUnderTest, skip: string | false = false): void {
  const unitIn = (place: RuntimeUnderTest, agentEnv: Record<string, string> = {}): UnitSpec => ({
    unitId: newId(),
    deploymentId: newId(),
    revisionId: newId(),
    artifactFolder: place.artifactFolder,
    configPath: "langgraph.json",
    uidOffset: 77,
    token,
    databaseUri: new Secret("postgres://unit@localhost/unit"),
    poolSize: 4,
    agentEnv: Object.fromEntries(Object.entries(agentEnv).map(([key, value]) => [key, new Secret(value)])),
    memoryMb: 400,
    limits: { memoryMb: undefined, cpu: undefined },
    nodePath: process.execPath,
  })
  const untilReady = (runtime: Runtime, { unitId }: UnitSpec) =>
    until(() => askStatus({ socketPath: runtime.socketPath(unitId), token }), { what: "the unit answers" })
  const end = async (runtime: Runtime, { unitId }: UnitSpec) => {
    await runtime.stop(unitId, { graceMs: 5000 })
    await runtime.remove(unitId)
  }

  test(`${name}: started twice, it is one unit (R1)`, { skip }, async () => {
    const place = prepare()
    const runtime = place.open()
    const unit = unitIn(place)

    await Promise.all([runtime.start(unit), Promise.resolve()])
    await runtime.start(unit)
    const { pid } = await untilReady(runtime, unit)

    assert.deepEqual(await runtime.status(unit.unitId), { state: "running", pid })
    await end(runtime, unit)
  })

  test(`${name}: another runtime on the same place finds it, and its log goes on (R2, R6)`, { skip }, async () => {
    const place = prepare()
    const unit = unitIn(place)
    await place.open().start(unit)
    const { pid } = await untilReady(place.open(), unit)
    const first = await place.open().logs(unit.unitId, 0)

    const adopted = place.open()
    await adopted.start(unit)

    assert.deepEqual(await adopted.status(unit.unitId), { state: "running", pid })
    assert.deepEqual(await adopted.list(), [unit.unitId])
    assert.match(first.lines.join("\n"), /unit starts[\s\S]*unit listens/)
    assert.deepEqual((await adopted.logs(unit.unitId, first.next)).lines, [])
    assert.equal(await adopted.forgetLogs(unit.unitId, first.next - 1), false, "what was not read stays")
    const mark = await adopted.logMark(unit.unitId)
    assert.equal(await adopted.forgetLogs(unit.unitId, first.next), true)
    assert.notEqual(await adopted.logMark(unit.unitId), mark)
    assert.deepEqual(await adopted.logs(unit.unitId, first.next), { lines: [], next: 0 })
    await end(adopted, unit)
  })

  test(`${name}: one that ended by itself says so, and lives again at the same address (R3)`, { skip }, async () => {
    const place = prepare()
    const runtime = place.open()
    const unit = unitIn(place)
    await runtime.start(unit)
    const first = await untilReady(runtime, unit)

    process.kill(first.pid, "SIGKILL")
    await until(async () => (await runtime.status(unit.unitId)).state === "exited", { what: "its end is known" })
    const address = runtime.socketPath(unit.unitId)
    await runtime.start(unit)
    const second = await untilReady(runtime, unit)

    assert.notEqual(second.pid, first.pid)
    assert.equal(runtime.socketPath(unit.unitId), address)
    assert.ok(Buffer.byteLength(address) < 100)
    await end(runtime, unit)
  })

  test(`${name}: killed, it ends with every process that came of it, and how much they used was known (R3)`, {
    skip,
  }, async () => {
    const place = prepare()
    const runtime = place.open()
    const unit = unitIn(place, { FAKE_EATS_MB: "150" })
    await runtime.start(unit)
    await untilReady(runtime, unit)
    const usedMb = async () => (await runtime.memoryMb([unit.unitId])).get(unit.unitId) ?? 0
    await until(async () => (await usedMb()) > 150, { what: "what it started is counted" })

    await runtime.kill(unit.unitId)

    assert.deepEqual(await runtime.status(unit.unitId), { state: "exited" })
    assert.equal(await usedMb(), 0)
    await end(runtime, unit)
  })

  test(`${name}: stopped and removed twice, nothing is left (R5)`, { skip }, async () => {
    const place = prepare()
    const runtime = place.open()
    const unit = unitIn(place)
    await runtime.start(unit)
    await untilReady(runtime, unit)

    for (let time = 0; time < 2; time++) await end(runtime, unit)

    assert.deepEqual(await runtime.status(unit.unitId), { state: "absent" })
    assert.deepEqual(await runtime.list(), [])
    assert.equal(await askStatus({ socketPath: runtime.socketPath(unit.unitId), token }), undefined)
  })
}

/** The suites that every machine passes (port.ts, R1–R10), with fake units, which speak protocol/unit. */

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { BuildFailed } from "@superstep/builder/faults/build-failed"
import { type Address, connectOptions, unixPathOf } from "@superstep/protocol/http/address"
import { Secret, secretsOf } from "@superstep/toolkit/config/settings"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as newId } from "uuid"
import { isolatedUser } from "../../parts/isolation/isolation.js"
import { askStatus } from "../../unit-client/unit-client.js"
import { ask } from "../../unit-client/unit-request.js"
import type { BuildSource, Machine, Units } from "../port.js"
import { startedUnit } from "./started-unit.js"
import { unitSpec } from "./unit-spec.js"

export interface UnitsUnderTest {
  /** The units of this place; a second call stands for a restarted control plane. */
  units(): Units
  /** An artifact with `langgraph.json`. */
  readonly artifactId: string
  /** Where root isolates deployments; else undefined, and the control plane is the test's own user. */
  readonly controlUser: OsUser | undefined
  /** The process of this computer with which the unit lives and ends. */
  pidOf(unitId: string): number | Promise<number>
}

const token = new Secret("unit-token")

/**
 * @param prepare  creates a new place for each test
 * @param skip     why the suite cannot run here
 */
export function unitsConformance(
  name: string,
  prepare: () => UnitsUnderTest | Promise<UnitsUnderTest>,
  skip: string | false = false,
): void {
  test(`${name}: a second start of a unit returns the running one (R1)`, { skip }, async () => {
    const place = await prepare()
    const units = place.units()
    const unit = unitSpec({ artifactId: place.artifactId })

    await units.start(unit)
    const { unitId, end } = await startedUnit({ units: () => units }, unit)
    const pid = await place.pidOf(unitId)
    await units.start(unit)

    assert.deepEqual(await units.status(unitId), { state: "running" })
    assert.equal(await place.pidOf(unitId), pid)
    await end(5000)
  })

  test(`${name}: another control plane adopts the unit and continues its log (R2, R6)`, {
    skip,
  }, async () => {
    const place = await prepare()
    const { unit, unitId } = await startedUnit(place)
    const pid = await place.pidOf(unitId)
    const first = await place.units().logs(unitId, "")

    const adopted = place.units()
    const { end } = await startedUnit({ units: () => adopted }, unit)

    assert.deepEqual(await adopted.status(unitId), { state: "running" })
    assert.equal(await place.pidOf(unitId), pid)
    assert.deepEqual(await adopted.list(), [unitId])
    assert.match(first.lines.join("\n"), /unit starts[\s\S]*unit listens/)
    assert.deepEqual(await adopted.logs(unitId, first.next), { lines: [], next: first.next })
    assert.deepEqual(await adopted.logs(unitId, ""), first, "what nobody has stored stays")
    await adopted.stop(unitId, { graceMs: 5000 })
    const last = await adopted.logs(unitId, first.next)
    assert.match(last.lines.join("\n"), /unit stops/)
    assert.deepEqual(await place.units().logs(unitId, last.next), { lines: [], next: last.next })
    await end(5000)
  })

  test(`${name}: a unit that exited is reported as exited and can be restarted at the same address (R3)`, {
    skip,
  }, async () => {
    const place = await prepare()
    const { units, unit, unitId, answers, end } = await startedUnit(place)
    const first = await place.pidOf(unitId)

    process.kill(first, "SIGKILL")
    await until(async () => (await units.status(unitId)).state === "exited", { what: "its end is known" })
    const address = units.address(unitId)
    await units.start(unit)
    await answers()

    assert.notEqual(await place.pidOf(unitId), first)
    assert.equal(units.address(unitId), address)
    assert.ok(Buffer.byteLength(address) < 100)
    await end(5000)
  })

  test(`${name}: kill ends a unit with all its descendants, whose memory use was measured (R3)`, {
    skip,
  }, async () => {
    const { units, unitId, end } = await startedUnit(await prepare(), {
      secrets: secretsOf({ FAKE_EATS_MB: "150" }),
    })
    const usedMb = async () => (await units.memoryMb([unitId])).get(unitId) ?? 0
    await until(async () => (await usedMb()) > 150, { what: "what it started is counted" })

    await units.kill(unitId)

    assert.deepEqual(await units.status(unitId), { state: "exited" })
    assert.equal(await usedMb(), 0)
    await end(5000)
  })

  test(`${name}: code of a unit opens no inspector of its server by SIGUSR1 (R9)`, { skip }, async () => {
    const { units, unitId, addressOf, end } = await startedUnit(await prepare(), {
      secrets: secretsOf({ FAKE_COMMAND: "kill -USR1 $PPID" }),
    })

    const { body } = await ask(addressOf(), "GET", "/sh")
    const said = await until(
      async () => (await units.logs(unitId, "")).lines.find((line) => /inspector|debugger/i.test(line)),
      { what: "Node says what became of its inspector" },
    )

    assert.equal((JSON.parse(body) as { status: number }).status, 0, body)
    assert.match(said, /^Starting inspector on 240\.0\.0\.1:\d+ failed/)
    await end(5000)
  })

  test(`${name}: the control plane's user reaches a unit, and no other deployment's user reaches its socket (R10)`, {
    skip,
  }, async (t) => {
    const place = await prepare()
    if (!place.controlUser) return t.skip("only root isolates deployments")
    const { units, unit, unitId, end } = await startedUnit(place)
    const address = units.address(unitId)

    assert.equal(answerFor(place.controlUser, address), "200")
    if (unixPathOf(address)) assert.equal(answerFor(isolatedUser(unit.deploymentNumber + 1), address), "EACCES")
    await end(5000)
  })

  test(`${name}: stop and remove may be repeated and leave nothing (R5)`, { skip }, async () => {
    const place = await prepare()
    const { units, unitId, addressOf, end } = await startedUnit(place)

    for (let time = 0; time < 2; time++) await end(5000)

    assert.deepEqual(await units.status(unitId), { state: "absent" })
    assert.deepEqual(await units.list(), [])
    assert.equal(await askStatus(addressOf()), undefined)
  })
}

const askOk = `
  const [address, token] = process.argv.slice(1).map((text) => JSON.parse(text))
  require("node:http").get({ ...address, path: "/ok", headers: { "x-superstep-unit": token } }, ({ statusCode }) => {
    console.log(statusCode)
    process.exit()
  }).once("error", ({ code }) => console.log(code))`

/** Asks a unit as another user of this computer. @returns  the status of the reply, or the code of the error */
const answerFor = ({ uid, gid }: OsUser, address: Address): string =>
  execFileSync(
    process.execPath,
    ["-e", askOk, JSON.stringify(connectOptions(address)), JSON.stringify(token.reveal())],
    { cwd: "/", uid, gid, encoding: "utf8" },
  ).trim()

export interface MachineUnderTest {
  /** The machine; a second call stands for a restarted control plane. */
  open(): Machine
}

/**
 * @param prepare  creates a new place for each test; its builds load graphs with `fake-verify.ts` of the builder
 * @param skip     why the suite cannot run here
 */
export function buildsConformance(
  name: string,
  prepare: () => MachineUnderTest | Promise<MachineUnderTest>,
  skip: string | false = false,
): void {
  const files = {
    "langgraph.json": JSON.stringify({ graphs: { chat: "./chat.mjs:graph" } }),
    "package.json": JSON.stringify({ name: "app", type: "module" }),
    "chat.mjs":
      "import { env } from 'node:process'\nif (!env.MODEL_KEY) throw new Error('no key')\nexport const graph = {}\n",
  }
  const sourceOf = (buildCommand: string | null): BuildSource => ({
    revisionId: newId(),
    deploymentId: newId(),
    deploymentNumber: 77,
    treeHash: "a",
    configPath: "langgraph.json",
    installCommand: "true",
    buildCommand,
  })
  const fetchInto = async ({ builds }: Machine, { revisionId }: BuildSource) => {
    const tree = await builds.prepare(revisionId)
    mkdirSync(tree)
    for (const [path, content] of Object.entries(files)) writeFileSync(join(tree, path), content)
  }
  const secrets = { MODEL_KEY: new Secret("k") }
  const untilEnded = ({ builds }: Machine, { revisionId }: BuildSource) =>
    until(
      async () => {
        const now = await builds.state(revisionId)
        return now.state !== "running" && now
      },
      { what: "the build has ended", timeoutMs: 60_000 },
    )

  test(`${name}: a build goes on when the control plane ends, and is found again with its log (R1, R2, R6, R8)`, {
    skip,
  }, async () => {
    const place = await prepare()
    const source = sourceOf("echo built")
    const { revisionId, deploymentId, deploymentNumber } = source
    await fetchInto(place.open(), source)
    const artifactId = await place.open().builds.plan(source)
    const isThereBefore = await place.open().artifacts.has(artifactId)
    await place.open().builds.start(source, secrets)

    const { builds, artifacts } = place.open()
    const ended = await untilEnded(place.open(), source)
    const { lines, next } = await builds.logs(revisionId, 0)
    const unreported = await artifacts.list()
    await builds.remove(revisionId)

    const [platform] = await artifacts.platforms(deploymentNumber)
    assert.equal(isThereBefore, false)
    assert.deepEqual(ended, {
      state: "published",
      artifact: { artifactId, platform, graphs: ["chat"], langgraphVersion: "1.4.12", lacksSchemas: false },
    })
    assert.match(lines.map(({ message }) => message).join("\n"), /^built$[\s\S]*build finished/m)
    assert.ok(next > 0)
    assert.ok(!unreported.includes(artifactId), "somebody else would remove it")
    assert.deepEqual(await builds.state(revisionId), { state: "absent" })
    assert.deepEqual(await builds.list(), [])
    assert.ok((await artifacts.list()).includes(artifactId))
    assert.ok((await artifacts.usedMb(deploymentId, [artifactId])) >= 0)
    const signal = new AbortController().signal
    const schemaSource = { artifactId, deploymentNumber, configPath: source.configPath }
    for (let time = 0; time < 2; time++) await artifacts.readSchemas(schemaSource, signal)
    assert.equal(await artifacts.has(artifactId), true)
    for (let time = 0; time < 2; time++) {
      await artifacts.remove(artifactId)
      await artifacts.removeCache(deploymentId)
    }
    assert.equal(await artifacts.has(artifactId), false)
    await assert.rejects(artifacts.readSchemas(schemaSource, signal))
    assert.ok(!(await artifacts.caches()).includes(deploymentId))
  })

  test(`${name}: the same source built in the same way has the same id, and any other has another (R7)`, {
    skip,
  }, async () => {
    const machine = (await prepare()).open()
    const source = sourceOf(null)
    await fetchInto(machine, source)
    const idOf = (change: Partial<BuildSource>) => machine.builds.plan({ ...source, ...change })

    const id = await idOf({})

    assert.equal(await idOf({}), id)
    for (const change of [{ treeHash: "b" }, { buildCommand: "echo" }, { deploymentId: newId() }])
      assert.notEqual(await idOf(change), id, Object.keys(change).join())
    await machine.builds.remove(source.revisionId)
  })

  test(`${name}: a project's fault is told with its code, and nothing is published (R8)`, { skip }, async () => {
    const machine = (await prepare()).open()
    const source = sourceOf("echo to no avail && exit 3")
    await fetchInto(machine, source)
    const artifactId = await machine.builds.plan(source)
    await machine.builds.start(source, secrets)

    const ended = await untilEnded(machine, source)

    assert.equal(ended.state === "failed" && ended.code, "build_command_failed")
    assert.equal(await machine.artifacts.has(artifactId), false)
    await fetchInto(machine, source)
    await assert.rejects(machine.builds.plan({ ...source, configPath: "missing.json" }), BuildFailed)
    await machine.builds.remove(source.revisionId)
  })

  test(`${name}: a stopped build has ended, and starts again from a fresh tree (R5)`, { skip }, async () => {
    const machine = (await prepare()).open()
    const source = sourceOf("echo begun && sleep 60")
    const { builds } = machine
    await fetchInto(machine, source)
    await builds.start(source, secrets)
    const hasBegun = async () =>
      (await builds.logs(source.revisionId, 0)).lines.some(({ message }) => message === "begun")
    await until(hasBegun, { what: "its command runs" })

    for (let time = 0; time < 2; time++) await builds.stop(new Set([source.revisionId]))
    const stopped = await builds.state(source.revisionId)
    await fetchInto(machine, source)
    await builds.start({ ...source, buildCommand: "true" }, secrets)
    const ended = await untilEnded(machine, source)
    await builds.forgetResult(source.revisionId)

    assert.equal(stopped.state, "ended")
    assert.equal(ended.state, "published")
    await until(async () => (await builds.state(source.revisionId)).state === "ended", { what: "it counts as ended" })
    await builds.remove(source.revisionId)
  })
}

/** What a control group enforces, with units that try to escape from it. */

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { after, test } from "node:test"
import { Secret, secretsOf } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import type { UnitSpec, Units } from "../../port/port.js"
import { unitsConformance } from "../../port/testing/conformance.js"
import { unitSpec } from "../../port/testing/unit-spec.js"
import { askStatus } from "../../unit-client/unit-client.js"
import type { Controller } from "../cgroups/cgroup.js"
import { openCgroups } from "../cgroups/cgroups.js"
import { processPlace } from "../testing/place.js"

const installation = { homeId: "tests of units", home: temporaryFolder() }
const { cgroups, problem } = await openCgroups(installation, undefined)
after(async () => {
  assert.deepEqual(await cgroups?.names(), cgroups && [], "no test leaves a group")
  await cgroups?.close()
})
const skip = cgroups ? false : (problem ?? "no control groups")
const unless = (controller: Controller) =>
  cgroups?.held.has(controller) ? false : (problem ?? `no controller "${controller}"`)

unitsConformance("processes in control groups", () => processPlace(cgroups), skip)

const token = new Secret("t")
const unitOf = (variables: Record<string, string>, limits: Partial<UnitSpec["limits"]> = {}): UnitSpec =>
  unitSpec({ token, secrets: secretsOf(variables), limits: { memoryMb: undefined, cpu: undefined, ...limits } })

const fileOf = ({ unitId }: UnitSpec, file: string) =>
  readFileSync(join(cgroups?.pathOf(`unit-${unitId}`) ?? "", file), "utf8")
const membersOf = (unit: UnitSpec) => fileOf(unit, "cgroup.procs").trim().split("\n").map(Number)
const fieldOf = (unit: UnitSpec, file: string, name: string) =>
  Number(new RegExp(`^${name} (\\d+)$`, "m").exec(fileOf(unit, file))?.[1])
const answers = (units: Units, { unitId }: UnitSpec) =>
  until(() => askStatus({ address: units.address(unitId), token }), { what: "it answers" })
const isGone = (pid: number) => {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return true
  }
}

test("processes that a graph started end with the unit, even after a restart of the control plane", {
  skip,
}, async () => {
  const here = processPlace(cgroups)
  const unit = unitOf({ FAKE_EATS_MB: "1" })
  await here.units().start(unit)
  await answers(here.units(), unit)
  const server = here.pidOf(unit.unitId)
  if (cgroups?.held.has("pids")) assert.equal(fileOf(unit, "pids.max"), "4096\n")
  const left = membersOf(unit).filter((pid) => pid !== server)
  assert.equal(left.length, 1)

  const adopted = here.units()
  process.kill(server, "SIGKILL")
  await until(async () => (await adopted.status(unit.unitId)).state === "exited", { what: "its end is known" })
  assert.ok(!left.some(isGone), "a process in a session of its own outlives its server")
  await adopted.start(unit)
  assert.ok(left.every(isGone), "what the first life left is gone before the second begins")
  await answers(adopted, unit)
  const inside = membersOf(unit)
  await adopted.stop(unit.unitId, { graceMs: 5000 })

  assert.equal(inside.length, 2)
  assert.ok(inside.every(isGone))
  assert.deepEqual(await cgroups?.names(), [])
  assert.deepEqual(await adopted.list(), [unit.unitId])
  await adopted.remove(unit.unitId)
  assert.deepEqual(await adopted.list(), [])
})

test("a unit of which only the group remains is listed and can be stopped", { skip }, async () => {
  const here = processPlace(cgroups)
  const unit = unitOf({ FAKE_EATS_MB: "1" })
  await here.units().start(unit)
  await answers(here.units(), unit)
  const inside = membersOf(unit)
  await here.units().remove(unit.unitId)

  assert.deepEqual(await here.units().list(), [unit.unitId])
  await here.units().stop(unit.unitId, { graceMs: 5000 })

  assert.ok(inside.every(isGone))
  assert.deepEqual(await here.units().list(), [])
})

test("a unit over its memory limit is killed by the kernel, and its neighbours are not", {
  skip: unless("memory"),
}, async () => {
  const here = processPlace(cgroups)
  const units = here.units()
  const neighbour = unitOf({}, { memoryMb: 300 })
  const hungry = unitOf({ FAKE_EATS_MB: "1000" }, { memoryMb: 300 })
  await units.start(neighbour)
  await answers(units, neighbour)
  const pid = here.pidOf(neighbour.unitId)

  await units.start(hungry)
  await until(async () => (await units.status(hungry.unitId)).state === "exited", { what: "it is ended" })

  assert.deepEqual(await here.units().status(hungry.unitId), { state: "exited", ranOutOfMb: 300 })
  assert.equal(fieldOf(hungry, "cgroup.events", "populated"), 0)
  assert.equal((await answers(units, neighbour)).pid, pid)
  assert.deepEqual(await units.memoryMb([neighbour.unitId, hungry.unitId]), new Map(), "nobody else has to look")
  await units.start({ ...hungry, secrets: {} })
  await answers(units, hungry)
  await units.kill(hungry.unitId)
  assert.deepEqual(await units.status(hungry.unitId), { state: "exited" }, "its next life ended for another reason")
  for (const unit of [neighbour, hungry]) await units.stop(unit.unitId, { graceMs: 5000 })
})

test("a unit gets the processor time of its limit, and one without a limit gets more", {
  skip: unless("cpu"),
}, async () => {
  const here = processPlace(cgroups)
  const units = here.units()
  const limited = unitOf({ FAKE_BURNS: "4" }, { cpu: 0.5 })
  const free = unitOf({ FAKE_BURNS: "4" })
  for (const unit of [limited, free]) await units.start(unit)

  const look = (unit: UnitSpec) => {
    const of = (name: string) => fieldOf(unit, "cpu.stat", name)
    return { used: of("usage_usec"), periods: of("nr_periods"), throttled: of("nr_throttled") }
  }
  // From here on both use all the processor time they get.
  await until(() => look(limited).throttled > 0 && look(free).used > 1_000_000, { what: "both have begun" })
  const [begun, freeBegun] = [look(limited), look(free)]
  await until(() => look(limited).throttled >= begun.throttled + 20, { what: "it has wanted more, time and again" })
  const [ended, freeEnded] = [look(limited), look(free)]

  const used = ended.used - begun.used
  // Half a period's length for each period, and for the two that were measured only in part.
  const granted = 50_000 * (ended.periods - begun.periods + 2)
  const usedByFree = freeEnded.used - freeBegun.used
  assert.ok(used <= granted * 1.1, `${used} µs of ${granted}`)
  assert.ok(used >= granted * 0.5, `${used} µs of ${granted}`)
  assert.ok(used < usedByFree * 1.1, `${used} µs, the other ${usedByFree}`)
  assert.ok(Number.isNaN(freeEnded.throttled) || freeEnded.throttled === 0)
  for (const unit of [limited, free]) await units.stop(unit.unitId, { graceMs: 50 })
})

test("a unit whose group cannot be created runs without it, and its log says so", { skip }, async () => {
  const gone = cgroups && { ...cgroups, pathOf: (name: string) => join(cgroups.folder, "gone", name) }
  const units = processPlace(gone).units()
  const unit = unitOf({})

  await units.start(unit)
  await answers(units, unit)
  const { lines } = await units.logs(unit.unitId, "")
  await units.stop(unit.unitId, { graceMs: 1000 })

  assert.match(lines[0] ?? "", /runs without limits: its control group cannot be created \(.*ENOENT/)
  await units.remove(unit.unitId)
})

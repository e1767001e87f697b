/** What holds of a unit because it is in a control group, with units that do not want it to. */
import assert from "node:assert/strict"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import { Secret } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as newId } from "uuid"
import type { Controller } from "./cgroup.js"
import { openCgroups } from "./cgroups.js"
import { runtimeConformance } from "./conformance.js"
import type { Runtime, UnitSpec } from "./port.js"
import { processRuntime } from "./process.js"
import { askStatus } from "./unit-client.js"

const serverEntry = fileURLToPath(new URL("./testing/fake-unit.js", import.meta.url))
const installation = { homeId: "tests of units", home: temporaryFolder() }
const { cgroups, problem } = await openCgroups(installation, undefined)
after(async () => {
  assert.deepEqual(await cgroups?.names(), cgroups && [], "no test leaves a group")
  await cgroups?.close()
})
const skip = cgroups ? false : (problem ?? "no control groups")
const unless = (controller: Controller) =>
  cgroups?.held.has(controller) ? false : (problem ?? `no controller "${controller}"`)

function place(groups = cgroups) {
  const home = temporaryFolder()
  const artifactFolder = join(home, "artifact")
  mkdirSync(artifactFolder)
  writeFileSync(join(artifactFolder, "langgraph.json"), "{}")
  const isolation = { user: () => undefined, warning: undefined }
  const folders = { unitsFolder: join(home, "units"), socketsFolder: join(home, "run") }
  const options = { ...folders, serverEntry, isolation, cgroups: groups, environment: { PATH: process.env.PATH } }
  return { artifactFolder, open: () => processRuntime(options) }
}

runtimeConformance("processes in control groups", () => place(), skip)

const token = new Secret("t")
const unitOf = (
  { artifactFolder }: { artifactFolder: string },
  agentEnv: Record<string, string>,
  limits: Partial<UnitSpec["limits"]> = {},
): UnitSpec => ({
  unitId: newId(),
  deploymentId: "d1",
  revisionId: "r1",
  artifactFolder,
  configPath: "langgraph.json",
  uidOffset: 1,
  token,
  databaseUri: new Secret("postgres://unit"),
  poolSize: 7,
  agentEnv: Object.fromEntries(Object.entries(agentEnv).map(([name, value]) => [name, new Secret(value)])),
  memoryMb: 400,
  limits: { memoryMb: undefined, cpu: undefined, ...limits },
  nodePath: process.execPath,
})

const fileOf = ({ unitId }: UnitSpec, file: string) =>
  readFileSync(join(cgroups?.pathOf(`unit-${unitId}`) ?? "", file), "utf8")
const membersOf = (unit: UnitSpec) => fileOf(unit, "cgroup.procs").trim().split("\n").map(Number)
const fieldOf = (unit: UnitSpec, file: string, name: string) =>
  Number(new RegExp(`^${name} (\\d+)$`, "m").exec(fileOf(unit, file))?.[1])
const pidOf = async (runtime: Runtime, { unitId }: UnitSpec) => {
  const status = await runtime.status(unitId)
  return status.state === "running" ? status.pid : assert.fail(`it is ${status.state}`)
}
const answers = (runtime: Runtime, { unitId }: UnitSpec) =>
  until(() => askStatus({ socketPath: runtime.socketPath(unitId), token }), { what: "it answers" })
const isGone = (pid: number) => {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return true
  }
}

test("what a graph started in a session of its own ends with the unit, also after another control plane came", {
  skip,
}, async () => {
  const here = place()
  const unit = unitOf(here, { FAKE_EATS_MB: "1" })
  await here.open().start(unit)
  await answers(here.open(), unit)
  const server = await pidOf(here.open(), unit)
  const left = membersOf(unit).filter((pid) => pid !== server)
  assert.equal(left.length, 1)

  const adopted = here.open()
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

test("a unit that only its group is left of is listed, and stopped as others are", { skip }, async () => {
  const here = place()
  const unit = unitOf(here, { FAKE_EATS_MB: "1" })
  await here.open().start(unit)
  await answers(here.open(), unit)
  const inside = membersOf(unit)
  await here.open().remove(unit.unitId)

  assert.deepEqual(await here.open().list(), [unit.unitId])
  await here.open().stop(unit.unitId, { graceMs: 5000 })

  assert.ok(inside.every(isGone))
  assert.deepEqual(await here.open().list(), [])
})

test("a unit that wants a gigabyte at once is ended by the kernel at its limit, and its neighbours are not", {
  skip: unless("memory"),
}, async () => {
  const here = place()
  const runtime = here.open()
  const neighbour = unitOf(here, {}, { memoryMb: 300 })
  const hungry = unitOf(here, { FAKE_EATS_MB: "1000" }, { memoryMb: 300 })
  await runtime.start(neighbour)
  await answers(runtime, neighbour)
  const pid = await pidOf(runtime, neighbour)

  await runtime.start(hungry)
  await until(async () => (await runtime.status(hungry.unitId)).state === "exited", { what: "it is ended" })

  assert.deepEqual(await here.open().status(hungry.unitId), { state: "exited", ranOutOfMb: 300 })
  assert.equal(fieldOf(hungry, "cgroup.events", "populated"), 0)
  assert.equal(await pidOf(runtime, neighbour), pid)
  assert.deepEqual(await runtime.memoryMb([neighbour.unitId, hungry.unitId]), new Map(), "nobody else has to look")
  await runtime.start({ ...hungry, agentEnv: {} })
  await answers(runtime, hungry)
  await runtime.kill(hungry.unitId)
  assert.deepEqual(await runtime.status(hungry.unitId), { state: "exited" }, "its next life ended for another reason")
  for (const unit of [neighbour, hungry]) await runtime.stop(unit.unitId, { graceMs: 5000 })
})

test("a unit that burns four threads gets the processor time of its limit, and one without a limit gets more", {
  skip: unless("cpu"),
}, async () => {
  const here = place()
  const runtime = here.open()
  const limited = unitOf(here, { FAKE_BURNS: "4" }, { cpu: 0.5 })
  const free = unitOf(here, { FAKE_BURNS: "4" })
  for (const unit of [limited, free]) await runtime.start(unit)

  const look = (unit: UnitSpec) => {
    const of = (name: string) => fieldOf(unit, "cpu.stat", name)
    return { used: of("usage_usec"), periods: of("nr_periods"), throttled: of("nr_throttled") }
  }
  // From here on both burn.
  await until(() => look(limited).throttled > 0 && look(free).used > 1_000_000, { what: "both have begun" })
  const [begun, freeBegun] = [look(limited), look(free)]
  await until(() => look(limited).throttled >= begun.throttled + 20, { what: "it has wanted more, time and again" })
  const [ended, freeEnded] = [look(limited), look(free)]

  const used = ended.used - begun.used
  // Half a period's length for each period, and as much for the two of which we saw a part.
  const granted = 50_000 * (ended.periods - begun.periods + 2)
  const usedByFree = freeEnded.used - freeBegun.used
  assert.ok(used <= granted * 1.1, `${used} µs of ${granted}`)
  assert.ok(used >= granted * 0.5, `${used} µs of ${granted}`)
  assert.ok(used < usedByFree * 1.1, `${used} µs, the other ${usedByFree}`)
  assert.ok(Number.isNaN(freeEnded.throttled) || freeEnded.throttled === 0)
  for (const unit of [limited, free]) await runtime.stop(unit.unitId, { graceMs: 50 })
})

test("a unit that starts processes without end is refused more", { skip: unless("pids") }, async () => {
  const here = place()
  const runtime = here.open()
  const unit = unitOf(here, {})
  await runtime.start(unit)

  const limit = fileOf(unit, "pids.max")

  assert.equal(limit, "4096\n")
  await runtime.stop(unit.unitId, { graceMs: 5000 })
})

test("a unit whose group cannot be made runs without it, and its log says so", { skip }, async () => {
  const gone = cgroups && { ...cgroups, pathOf: (name: string) => join(cgroups.folder, "gone", name) }
  const at = place(gone)
  const runtime = at.open()
  const unit = unitOf(at, {})

  await runtime.start(unit)
  await answers(runtime, unit)
  const { lines } = await runtime.logs(unit.unitId, 0)
  await runtime.stop(unit.unitId, { graceMs: 1000 })

  assert.match(lines[0] ?? "", /runs without its limits: its control group cannot be made \(.*ENOENT/)
  await runtime.remove(unit.unitId)
})

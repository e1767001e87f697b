import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { Secret, secretsOf } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { decideIsolation, isolatedUser } from "../../parts/isolation/isolation.js"
import { unitEnvironment, unitSecrets } from "../../parts/units/unit-environment.js"
import { TooManyDeployments } from "../../port/errors.js"
import type { UnitSpec } from "../../port/port.js"
import { unitsConformance } from "../../port/testing/conformance.js"
import { startedUnit } from "../../port/testing/started-unit.js"
import { unitSpec } from "../../port/testing/unit-spec.js"
import { ask } from "../../unit-client/unit-request.js"
import { isolatedPlace, processPlace } from "../testing/place.js"

const isRoot = process.getuid?.() === 0

unitsConformance("processes", isolatedPlace)

const spec = (): UnitSpec =>
  unitSpec({
    unitId: "0190a1b2-0000-7000-8000-000000000001",
    revisionId: "r1",
    token: new Secret("t"),
    databaseUri: new Secret("postgres://unit"),
    poolSize: 7,
    secrets: { MODEL_KEY: new Secret("k") },
  })

const where = {
  folder: "/u/1",
  settingsFile: "/u/1/tmp/settings.json",
  artifactFolder: "/a",
  configEnv: { MODEL_KEY: "of the project", REGION: "eu" },
}

/** What a unit gets in its environment, and what in its settings file. */
const given = (unit: UnitSpec, base: NodeJS.ProcessEnv, configEnv: Record<string, string> = where.configEnv) => ({
  env: unitEnvironment(unit, { ...where, configEnv }, base),
  secrets: Object.fromEntries(
    Object.entries(unitSecrets(unit, { ...where, configEnv }, base)).map(([name, secret]) => [name, secret.reveal()]),
  ),
})

test("a unit gets its own database and secrets, and no secret of the platform (R4)", () => {
  const base = { PATH: "/bin", DATABASE_URI: "postgres://platform", SUPERSTEP_MASTER_KEY: "key", LOG_LEVEL: "debug" }

  const { env, secrets } = given({ ...spec(), configPath: "agent/langgraph.json" }, base)

  assert.deepEqual(env, {
    PATH: "/bin",
    LOG_LEVEL: "debug",
    BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "15",
    NODE_OPTIONS: "--max-old-space-size=300",
    NODE_ENV: "production",
    HOME: "/u/1/data",
    TMPDIR: "/u/1/tmp",
    SUPERSTEP_CONFIG: "/a/agent/langgraph.json",
    SUPERSTEP_LISTEN: "fd:3",
    SUPERSTEP_REVISION_ID: "r1",
    LANGGRAPH_POSTGRES_POOL_MAX_SIZE: "7",
    SUPERSTEP_NAME: "my-agent",
    SUPERSTEP_SERVER_ID: "0190a1b2-0000-7000-8000-000000000001",
    SUPERSTEP_SETTINGS_FILE: "/u/1/tmp/settings.json",
  })
  assert.deepEqual(secrets, {
    SUPERSTEP_UNIT_TOKEN: "t",
    SUPERSTEP_AGENT_ENV: JSON.stringify({ NODE_OPTIONS: "--max-old-space-size=300", MODEL_KEY: "k", REGION: "eu" }),
    DATABASE_URI: "postgres://unit",
  })
})

test("a project cannot change the operator's settings, whatever its own environment says", () => {
  const base = { SUPERSTEP_MAX_OPEN_REQUESTS: "100", SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS: "0" }
  const hostile = {
    SUPERSTEP_MAX_OPEN_REQUESTS: new Secret("1000000"),
    SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS: new Secret("1"),
    SUPERSTEP_WORKERS: new Secret("500"),
    N_JOBS_PER_WORKER: new Secret("7"),
  }

  const { env, secrets } = given({ ...spec(), secrets: hostile }, base, {})

  assert.deepEqual(
    [env.SUPERSTEP_MAX_OPEN_REQUESTS, env.SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS, env.SUPERSTEP_WORKERS],
    ["100", "0", undefined],
  )
  assert.equal(secrets.N_JOBS_PER_WORKER, "7")
  assert.deepEqual(Object.keys(JSON.parse(secrets.SUPERSTEP_AGENT_ENV ?? "")), ["NODE_OPTIONS", "N_JOBS_PER_WORKER"])
})

test("secrets of a deployment and addresses with a password are in no environment, also as settings of the server (R4)", () => {
  const base = {
    HTTP_PROXY: "http://user:of-the-proxy@proxy:3128",
    HTTPS_PROXY: "user:of-the-proxy@proxy:3128",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://user:of-the-operator@collector/v1/traces",
    NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
  }
  const own = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://user:of-the-deployment@collector",
    OTEL_SERVICE_NAME: "a-secret-name",
    BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "no-number-but-secret",
  }

  const { env, secrets } = given({ ...spec(), secrets: { ...spec().secrets, ...secretsOf(own) } }, base)

  const shown = JSON.stringify(env)
  for (const text of ["of-the-proxy", "of-the-operator", "of-the-deployment", "secret"])
    assert.ok(!shown.includes(text))
  assert.equal(env.NODE_EXTRA_CA_CERTS, "/etc/ca.pem")
  const traces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
  assert.equal(secrets[traces], base[traces])
  for (const [name, value] of Object.entries(own)) assert.equal(secrets[name], value, name)
  assert.match(secrets.SUPERSTEP_AGENT_ENV ?? "", /http:\/\/user:of-the-proxy@proxy:3128/)
})

test("a stopped unit has time to return its runs before it is killed", () => {
  const ofRuns = "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS"
  for (const [base, ofProject, expected] of [
    [{}, {}, "15"],
    [{}, { [ofRuns]: "180" }, "15"],
    [{}, { [ofRuns]: "10" }, "10"],
    [{ SUPERSTEP_STOP_GRACE: "200.5" }, { [ofRuns]: "180" }, "180"],
    [{ SUPERSTEP_STOP_GRACE: "200.5", [ofRuns]: "300" }, {}, "185"],
    [{ SUPERSTEP_STOP_GRACE: "2" }, {}, "0"],
  ] as const)
    assert.equal(given(spec(), base, ofProject).env[ofRuns], expected, JSON.stringify([base, ofProject]))
})

async function started(place = processPlace()) {
  const { addressOf, ...unit } = await startedUnit(place, spec())
  return { ...place, ...unit, address: addressOf(), stop: () => unit.units.stop(unit.unitId, { graceMs: 5000 }) }
}

test("a unit's secrets are not in its environment and remain in no file, at every start (R4)", async () => {
  const place = processPlace()
  for (let time = 0; time < 2; time++) {
    const { unitId, address, stop } = await started(place)
    const { agent, own } = JSON.parse((await ask(address, "GET", "/env")).body)

    assert.equal(agent.MODEL_KEY, "k")
    for (const name of Object.keys(unitSecrets(spec(), where, {}))) assert.ok(!own.includes(name), name)
    assert.equal(existsSync(join(place.folders.units, unitId, "tmp", "settings.json")), false)
    await stop()
  }
})

test("a unit whose starter was killed before it stored the process is found by its title", async () => {
  const { folders, units, unitId, pidOf, stop } = await started()
  const pid = pidOf(unitId)
  rmSync(join(folders.units, unitId, "pid.json"))
  writeFileSync(join(folders.units, unitId, "starting"), "{}")

  const found = await units.status(unitId)

  assert.deepEqual(found, { state: "running" })
  assert.equal(pidOf(unitId), pid)
  await stop()
})

const hasSetpriv = spawnSync("setpriv", ["--version"]).status === 0

test("code of a unit gets no more rights by programs such as sudo", {
  skip: !hasSetpriv && "needs setpriv",
}, async () => {
  // Before it answers, its process may still be the program that drops the rights.
  const { unitId, pidOf, stop } = await started()

  const status = readFileSync(`/proc/${pidOf(unitId)}/status`, "utf8")

  assert.match(status, /^NoNewPrivs:\t1$/m)
  await stop()
})

/** A unit that does not run, whose output is this. */
function printed(text: string) {
  const { units, folders } = processPlace()
  const { unitId } = spec()
  const file = join(folders.units, unitId, "out.log")
  mkdirSync(join(folders.units, unitId))
  writeFileSync(file, text)
  /** More than is kept of what is not stored. */
  const grow = (last: string) => {
    truncateSync(file, 70 * 1024 * 1024)
    appendFileSync(file, `\n${last}\n`)
  }
  return { open: units, units: units(), unitId, file, grow }
}

test("a long file of output is emptied when all of it is stored, and read on from its new start", async () => {
  const { open, units, unitId, file } = printed(`${"x".repeat(999)}\n`.repeat(11_000))
  let [from, lines] = ["", 0]
  const read = async () => {
    const found = await units.logs(unitId, from)
    lines += found.lines.length
    const isNew = found.next !== from
    from = found.next
    return isNew
  }
  await read()
  const kept = statSync(file).size

  while (await read());
  appendFileSync(file, "next\n")
  const next = await open().logs(unitId, from)

  assert.deepEqual([kept, lines, statSync(file).size], [11_000_000, 11_000, 5])
  assert.deepEqual(next, { lines: ["next"], next: "1:5" })
})

test("output that is not stored is cut by its size, and read from the start of what is left, also by two at the same time", async () => {
  const { units, unitId, file, grow } = printed("one\ntwo\n")
  const { next: stored } = await units.logs(unitId, "")
  grow("three")

  const [first, second] = await Promise.all([units.logs(unitId, stored), units.logs(unitId, stored)])
  appendFileSync(file, "four\n")
  const again = await units.logs(unitId, stored)
  const last = await units.logs(unitId, again.next)

  assert.match(
    first.lines.join("\n"),
    /^\[\d+ bytes of output were left out: it grew faster than it is stored\]\nthree$/,
  )
  assert.deepEqual(second, first)
  assert.deepEqual(again.lines, [...first.lines, "four"])
  assert.deepEqual(last, { lines: [], next: again.next })
  assert.ok(statSync(file).size < 1000)
})

test("output is cut while what was read of it is being stored, and none of it is read again", async () => {
  const { units, unitId, file, grow } = printed("one\n")
  const unwatch = await units.watchLogs(unitId, () => undefined)
  const beingStored = await units.logs(unitId, "")
  grow("two")

  await until(
    () => {
      appendFileSync(file, "\ntwo\n")
      return statSync(file).size < 10 * 1024 * 1024
    },
    { what: "the output to be cut without another read" },
  )
  unwatch?.()
  const { lines } = await units.logs(unitId, beingStored.next)

  assert.deepEqual(beingStored.lines, ["one"])
  assert.match(lines[0] ?? "", /^\[\d+ bytes of output were left out/)
  assert.ok(lines.includes("two") && !lines.includes("one"))
})

test("output that is stored is removed while the disk is full", async (t) => {
  const place = processPlace()
  const disk = place.folders.units
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs", disk]).status !== 0)
    return t.skip("may not mount a disk")
  try {
    const { units, unitId, end } = await startedUnit(place)
    const file = join(disk, unitId, "out.log")
    truncateSync(file, 11_000_000)
    assert.throws(() => writeFileSync(join(disk, "filler"), Buffer.alloc(1024 * 1024)), { code: "ENOSPC" })

    const { next } = await units.logs(unitId, "11000000")

    assert.equal(next, "1:0")
    assert.equal(statSync(file).size, 0)
    await end()
  } finally {
    spawnSync("umount", ["--lazy", disk])
  }
})

test("output of a unit whose former lives were containers is read from the start of its file", async () => {
  const { units, unitId } = printed("one\n")

  const found = await units.logs(unitId, JSON.stringify({ lifeId: "1_a" }))

  assert.deepEqual(found, { lines: ["one"], next: "4" })
  assert.deepEqual(await printed("").units.logs(unitId, ""), { lines: [], next: "" })
})

test("a unit that ignores the stop signal is killed after its grace period", async () => {
  const { units, unitId, pidOf } = await started()
  process.kill(pidOf(unitId), "SIGSTOP")

  await units.stop(unitId, { graceMs: 50 })

  assert.equal((await units.status(unitId)).state, "absent")
})

test("each deployment has a unique user, and their number is limited", () => {
  const [first, last] = [isolatedUser(1), isolatedUser(65_000)]

  assert.deepEqual(first, { uid: 200_001, gid: 200_001 })
  assert.deepEqual(last, { uid: 265_000, gid: 265_000 })
  assert.throws(() => isolatedUser(65_001), TooManyDeployments)
})

test("as root, isolation requires folders that other users can enter, and reports a missing one", {
  skip: !isRoot,
}, async () => {
  const closed = temporaryFolder()
  mkdirSync(join(closed, "inner"), { mode: 0o700 })
  const open = temporaryFolder()

  const isolated = await decideIsolation(open, [process.execPath])
  const refused = await decideIsolation(join(closed, "inner"), [process.execPath])

  assert.equal(isolated.warning, undefined)
  assert.notEqual(isolated.user(1)?.uid, isolated.user(2)?.uid)
  assert.equal(refused.user(1), undefined)
  assert.match(refused.warning ?? "", /SUPERSTEP_HOME/)
})

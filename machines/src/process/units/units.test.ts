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
import { request } from "node:http"
import { join } from "node:path"
import { json } from "node:stream/consumers"
import test from "node:test"
import { type Address, connectOptions, unixPathOf } from "@superstep/protocol/http/address"
import { Secret, secretsOf } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { decideIsolation, isolatedUser } from "../../parts/isolation/isolation.js"
import { unitEnvironment, unitSecrets } from "../../parts/units/unit-environment.js"
import { TooManyDeployments } from "../../port/errors.js"
import type { UnitSpec } from "../../port/port.js"
import { unitsConformance } from "../../port/testing/conformance.js"
import { unitSpec } from "../../port/testing/unit-spec.js"
import { hangs } from "../../unit-client/unit-client.js"
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

test("a unit gets its own database and secrets, and no secret of the platform (R4)", () => {
  const base = { PATH: "/bin", DATABASE_URI: "postgres://platform", SUPERSTEP_MASTER_KEY: "key", LOG_LEVEL: "debug" }

  const unit = { ...spec(), configPath: "agent/langgraph.json" }
  const env = unitEnvironment(unit, where, base)
  const secrets = Object.entries(unitSecrets(unit, where, base)).map(([name, secret]) => [name, secret.reveal()])

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
  assert.deepEqual(Object.fromEntries(secrets), {
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
  const unit = { ...spec(), secrets: hostile }

  const env = unitEnvironment(unit, { ...where, configEnv: {} }, base)
  const secrets = unitSecrets(unit, { ...where, configEnv: {} }, base)
  const agentEnv = JSON.parse(secrets.SUPERSTEP_AGENT_ENV?.reveal() ?? "")

  assert.deepEqual(
    [env.SUPERSTEP_MAX_OPEN_REQUESTS, env.SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS, env.SUPERSTEP_WORKERS],
    ["100", "0", undefined],
  )
  assert.equal(secrets.N_JOBS_PER_WORKER?.reveal(), "7")
  assert.deepEqual(Object.keys(agentEnv), ["NODE_OPTIONS", "N_JOBS_PER_WORKER"])
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
  const unit = { ...spec(), secrets: { ...spec().secrets, ...secretsOf(own) } }

  const env = unitEnvironment(unit, where, base)
  const secrets = unitSecrets(unit, where, base)

  const shown = JSON.stringify(env)
  for (const text of ["of-the-proxy", "of-the-operator", "of-the-deployment", "secret"])
    assert.ok(!shown.includes(text))
  assert.equal(env.NODE_EXTRA_CA_CERTS, "/etc/ca.pem")
  const traces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
  assert.equal(secrets[traces]?.reveal(), base[traces])
  for (const [name, value] of Object.entries(own)) assert.equal(secrets[name]?.reveal(), value, name)
  assert.match(secrets.SUPERSTEP_AGENT_ENV?.reveal() ?? "", /http:\/\/user:of-the-proxy@proxy:3128/)
})

test("a stopped unit has time to return its runs before it is killed", () => {
  const graceOf = (base: NodeJS.ProcessEnv, asked?: string) => {
    const configEnv: Record<string, string> = asked === undefined ? {} : { BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: asked }
    return unitEnvironment(spec(), { ...where, configEnv }, base).BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS
  }

  assert.equal(graceOf({}), "15")
  assert.equal(graceOf({}, "180"), "15")
  assert.equal(graceOf({}, "10"), "10")
  assert.equal(graceOf({ SUPERSTEP_STOP_GRACE: "200.5" }, "180"), "180")
  assert.equal(graceOf({ SUPERSTEP_STOP_GRACE: "200.5", BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "300" }), "185")
  assert.equal(graceOf({ SUPERSTEP_STOP_GRACE: "2" }), "0")
})

test("a unit's secrets are not in its environment and remain in no file, at every start (R4)", async () => {
  const place = processPlace()
  const units = place.units()
  const unit = spec()
  const settingsFile = join(place.folders.units, unit.unitId, "tmp", "settings.json")

  for (let time = 0; time < 2; time++) {
    await units.start(unit)
    const reported = await until(() => environmentOf(units.address(unit.unitId)), { what: "the unit answers" })

    assert.equal(reported.agent.MODEL_KEY, "k")
    for (const name of Object.keys(unitSecrets(unit, where, {}))) assert.ok(!reported.own.includes(name), name)
    assert.equal(existsSync(settingsFile), false)
    await units.stop(unit.unitId, { graceMs: 5000 })
  }
})

interface ToldEnvironment {
  readonly agent: Readonly<Record<string, string>>
  readonly own: readonly string[]
}

/** The fake unit's report of its environment; undefined while it does not listen. */
const environmentOf = (address: Address): Promise<ToldEnvironment | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { "x-superstep-unit": "t" }
    const asked = request({ ...connectOptions(address), path: "/env", headers, agent: false }, (response) => {
      json(response).then((reported) => resolve(reported as ToldEnvironment), reject)
    })
    asked.once("error", () => resolve(undefined))
    asked.end()
  })

test("a unit whose starter was killed before it stored the process is found by its title", async () => {
  const { folders, units, pidOf } = processPlace()
  const unit = spec()
  await units().start(unit)
  const identityFile = join(folders.units, unit.unitId, "pid.json")
  const pid = pidOf(unit.unitId)
  rmSync(identityFile)
  writeFileSync(join(folders.units, unit.unitId, "starting"), "{}")

  const found = await units().status(unit.unitId)

  assert.deepEqual(found, { state: "running" })
  assert.equal(pidOf(unit.unitId), pid)
  await units().stop(unit.unitId, { graceMs: 5000 })
})

const hasSetpriv = spawnSync("setpriv", ["--version"]).status === 0

test("code of a unit gets no more rights by programs such as sudo", {
  skip: !hasSetpriv && "needs setpriv",
}, async () => {
  const place = processPlace()
  const units = place.units()
  const unit = spec()
  await units.start(unit)
  // Before that, its process may still be the program that drops the rights.
  await until(() => environmentOf(units.address(unit.unitId)), { what: "the unit answers" })

  const status = readFileSync(`/proc/${place.pidOf(unit.unitId)}/status`, "utf8")

  assert.match(status, /^NoNewPrivs:\t1$/m)
  await units.stop(unit.unitId, { graceMs: 5000 })
})

test("a unit without a socket counts as hung", async () => {
  const units = processPlace().units()
  const unit = spec()
  await units.start(unit)
  const address = { address: units.address(unit.unitId), token: unit.token }
  await until(() => environmentOf(address.address), { what: "the unit answers" })
  assert.equal(await hangs(address, 60_000), false)

  rmSync(unixPathOf(address.address) ?? "")

  assert.equal(await hangs(address, 60_000), true)
  await units.stop(unit.unitId, { graceMs: 5000 })
})

test("a long file of output is emptied when all of it is stored, and read on from its new start", async () => {
  const { units: open, folders } = processPlace()
  const units = open()
  const { unitId } = spec()
  const file = join(folders.units, unitId, "out.log")
  mkdirSync(join(folders.units, unitId))
  writeFileSync(file, `${"x".repeat(999)}\n`.repeat(11_000))
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

test("output that is not stored is cut by its size, and read from the start of what is left", async () => {
  const { units: open, folders } = processPlace()
  const units = open()
  const { unitId } = spec()
  const file = join(folders.units, unitId, "out.log")
  mkdirSync(join(folders.units, unitId))
  writeFileSync(file, "one\ntwo\n")
  const { next: stored } = await units.logs(unitId, "")
  truncateSync(file, 70 * 1024 * 1024)
  appendFileSync(file, "\nthree\n")

  const first = await units.logs(unitId, stored)
  appendFileSync(file, "four\n")
  const again = await units.logs(unitId, stored)
  const last = await units.logs(unitId, again.next)

  assert.match(
    first.lines.join("\n"),
    /^\[\d+ bytes of output were left out: it grew faster than it is stored\]\nthree$/,
  )
  assert.deepEqual(again.lines, [...first.lines, "four"])
  assert.deepEqual(last, { lines: [], next: again.next })
  assert.ok(statSync(file).size < 1000)
})

test("two reads at the same time see the same output, also when it is cut meanwhile", async () => {
  const { units: open, folders } = processPlace()
  const units = open()
  const { unitId } = spec()
  const file = join(folders.units, unitId, "out.log")
  mkdirSync(join(folders.units, unitId))
  writeFileSync(file, "one\ntwo\n")
  const { next: stored } = await units.logs(unitId, "")
  truncateSync(file, 70 * 1024 * 1024)
  appendFileSync(file, "\nthree\n")

  const [first, second] = await Promise.all([units.logs(unitId, stored), units.logs(unitId, stored)])
  const last = await units.logs(unitId, first.next)

  assert.match(first.lines.join("\n"), /^\[\d+ bytes of output were left out: .*\]\nthree$/)
  assert.deepEqual(second, first)
  assert.deepEqual(last, { lines: [], next: first.next })
})

test("output is cut while what was read of it is being stored, and none of it is read again", async () => {
  const { units: open, folders } = processPlace()
  const units = open()
  const { unitId } = spec()
  const file = join(folders.units, unitId, "out.log")
  mkdirSync(join(folders.units, unitId))
  writeFileSync(file, "one\n")
  const unwatch = await units.watchLogs(unitId, () => undefined)
  const beingStored = await units.logs(unitId, "")
  truncateSync(file, 70 * 1024 * 1024)

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

test("output of a unit whose former lives were containers is read from the start of its file", async () => {
  const { units: open, folders } = processPlace()
  const { unitId } = spec()
  mkdirSync(join(folders.units, unitId))
  writeFileSync(join(folders.units, unitId, "out.log"), "one\n")

  const found = await open().logs(unitId, JSON.stringify({ lifeId: "1_a" }))

  assert.deepEqual(found, { lines: ["one"], next: "4" })
})

test("a unit that ignores the stop signal is killed after its grace period", async () => {
  const place = processPlace()
  const units = place.units()
  const unit = spec()
  await units.start(unit)
  await until(async () => (await units.logs(unit.unitId, "")).lines.length > 1, { what: "it listens" })
  process.kill(place.pidOf(unit.unitId), "SIGSTOP")

  await units.stop(unit.unitId, { graceMs: 50 })

  assert.equal((await units.status(unit.unitId)).state, "absent")
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

import assert from "node:assert/strict"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { json } from "node:stream/consumers"
import test from "node:test"
import { fileURLToPath } from "node:url"
import { Secret } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { runtimeConformance } from "./conformance.js"
import { decideIsolation, isolatedUser, TooManyDeployments } from "./isolation.js"
import { processRuntime } from "./process.js"
import { hangs } from "./unit-client.js"
import { unitEnvironment, unitSecrets } from "./unit-environment.js"

const serverEntry = fileURLToPath(new URL("./testing/fake-unit.js", import.meta.url))
const isRoot = process.getuid?.() === 0

function place() {
  const home = temporaryFolder()
  const [artifactFolder, unitsFolder] = [join(home, "artifact"), join(home, "units")]
  mkdirSync(artifactFolder)
  writeFileSync(join(artifactFolder, "langgraph.json"), "{}")
  const isolation = { user: () => undefined, warning: undefined }
  const environment = { PATH: process.env.PATH, SUPERSTEP_MASTER_KEY: "key", DATABASE_URI: "postgres://platform" }
  const options = {
    unitsFolder,
    socketsFolder: join(home, "run"),
    serverEntry,
    isolation,
    cgroups: undefined,
    environment,
  }
  return { artifactFolder, unitsFolder, open: () => processRuntime(options) }
}

runtimeConformance("processes", place)

const spec = (artifactFolder: string) => ({
  unitId: "0190a1b2-0000-7000-8000-000000000001",
  deploymentId: "d1",
  revisionId: "r1",
  artifactFolder,
  configPath: "agent/langgraph.json",
  uidOffset: 1,
  token: new Secret("t"),
  databaseUri: new Secret("postgres://unit"),
  poolSize: 7,
  agentEnv: { MODEL_KEY: new Secret("k") },
  memoryMb: 400,
  limits: { memoryMb: undefined, cpu: undefined },
  nodePath: process.execPath,
})

test("a unit gets its own database and secrets, and none of the platform's (R4)", () => {
  const base = { PATH: "/bin", DATABASE_URI: "postgres://platform", SUPERSTEP_MASTER_KEY: "key", LOG_LEVEL: "debug" }

  const where = { folder: "/u/1", settingsFile: "/u/1/tmp/settings.json" }
  const env = unitEnvironment(spec("/a"), where, base)
  const secrets = Object.entries(unitSecrets(spec("/a"), base)).map(([name, secret]) => [name, secret.reveal()])

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
    SUPERSTEP_SERVER_ID: "0190a1b2-0000-7000-8000-000000000001",
    SUPERSTEP_SETTINGS_FILE: "/u/1/tmp/settings.json",
  })
  assert.deepEqual(Object.fromEntries(secrets), {
    SUPERSTEP_UNIT_TOKEN: "t",
    SUPERSTEP_AGENT_ENV: JSON.stringify({ NODE_OPTIONS: "--max-old-space-size=300", MODEL_KEY: "k" }),
    DATABASE_URI: "postgres://unit",
  })
})

test("a unit that is stopped has time to hand its runs back before it is killed", () => {
  const where = { folder: "/u/1", settingsFile: "/u/1/tmp/settings.json" }
  const graceOf = (base: NodeJS.ProcessEnv, asked?: string) => {
    const agentEnv = asked === undefined ? {} : { BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: new Secret(asked) }
    return unitEnvironment({ ...spec("/a"), agentEnv }, where, base).BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS
  }

  assert.equal(graceOf({}), "15")
  assert.equal(graceOf({}, "180"), "15")
  assert.equal(graceOf({}, "10"), "10")
  assert.equal(graceOf({ SUPERSTEP_STOP_GRACE: "200.5" }, "180"), "180")
  assert.equal(graceOf({ SUPERSTEP_STOP_GRACE: "200.5", BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "300" }), "185")
  assert.equal(graceOf({ SUPERSTEP_STOP_GRACE: "2" }), "0")
})

test("a unit's secrets are neither in its environment nor left in a file, at each start anew (R4)", async () => {
  const { artifactFolder, unitsFolder, open } = place()
  const runtime = open()
  const unit = spec(artifactFolder)
  const settingsFile = join(unitsFolder, unit.unitId, "tmp", "settings.json")

  for (let time = 0; time < 2; time++) {
    await runtime.start(unit)
    const told = await until(() => environmentOf(runtime.socketPath(unit.unitId)), { what: "the unit answers" })

    assert.equal(told.agent.MODEL_KEY, "k")
    for (const name of Object.keys(unitSecrets(unit, {}))) assert.ok(!told.own.includes(name), name)
    assert.equal(existsSync(settingsFile), false)
    await runtime.stop(unit.unitId, { graceMs: 5000 })
  }
})

interface ToldEnvironment {
  readonly agent: Readonly<Record<string, string>>
  readonly own: readonly string[]
}

/** What the fake unit says of its environment; undefined while it does not listen. */
const environmentOf = (socketPath: string): Promise<ToldEnvironment | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { "x-superstep-unit": "t" }
    const asked = request({ socketPath, path: "/env", headers, agent: false }, (response) => {
      json(response).then((told) => resolve(told as ToldEnvironment), reject)
    })
    asked.once("error", () => resolve(undefined))
    asked.end()
  })

test("a unit whose starter was killed before it wrote down the process is found by its title", async () => {
  const { artifactFolder, unitsFolder, open } = place()
  const unit = spec(artifactFolder)
  await open().start(unit)
  const identityFile = join(unitsFolder, unit.unitId, "pid.json")
  const { pid } = JSON.parse(readFileSync(identityFile, "utf8")) as { pid: number }
  rmSync(identityFile)
  writeFileSync(join(unitsFolder, unit.unitId, "starting"), "{}")

  const found = await open().status(unit.unitId)

  assert.deepEqual(found, { state: "running", pid })
  await open().stop(unit.unitId, { graceMs: 5000 })
})

test("a unit whose socket is gone is out of reach, whatever it does", async () => {
  const { artifactFolder, open } = place()
  const runtime = open()
  const unit = spec(artifactFolder)
  await runtime.start(unit)
  const address = { socketPath: runtime.socketPath(unit.unitId), token: unit.token }
  await until(() => environmentOf(address.socketPath), { what: "the unit answers" })
  assert.equal(await hangs(address, 60_000), false)

  rmSync(address.socketPath)

  assert.equal(await hangs(address, 60_000), true)
  await runtime.stop(unit.unitId, { graceMs: 5000 })
})

test("a unit that ignores the stop signal is killed after its grace", async () => {
  const { artifactFolder, open } = place()
  const runtime = open()
  const unit = spec(artifactFolder)
  await runtime.start(unit)
  const status = await runtime.status(unit.unitId)
  assert.equal(status.state, "running")
  await until(async () => (await runtime.logs(unit.unitId, 0)).lines.length > 1, { what: "it listens" })
  if (status.state === "running") process.kill(status.pid, "SIGSTOP")

  await runtime.stop(unit.unitId, { graceMs: 50 })

  assert.equal((await runtime.status(unit.unitId)).state, "absent")
})

test("a deployment's user is nobody else's, and there is an end to them", () => {
  const [first, last] = [isolatedUser(1), isolatedUser(65_000)]

  assert.deepEqual(first, { uid: 200_001, gid: 200_001 })
  assert.deepEqual(last, { uid: 265_000, gid: 265_000 })
  assert.throws(() => isolatedUser(65_001), TooManyDeployments)
})

test("as root, isolation needs folders that other users can enter, and says so", { skip: !isRoot }, async () => {
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

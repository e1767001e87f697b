import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { after, test } from "node:test"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import type { Credentials } from "../home/credentials.js"
import { preparedFolder } from "../testing/prepared-folder.js"
import { interrupt, type Running, runCli, startCli, untilPrinted } from "../testing/run-cli.js"

interface Installation {
  readonly cwd: string
  readonly args: readonly string[]
  readonly url: string
}

/** @param cwd  where it is started; a folder with a Postgres by default */
async function installation(cwd?: string): Promise<Installation> {
  const [port, agentsPort] = [await freePort(), await freePort()]
  const args = ["up", "--no-example", "--port", String(port), "--agents-port", String(agentsPort)]
  return { cwd: cwd ?? (await preparedFolder()), args, url: `http://127.0.0.1:${port}` }
}

// A failed test must not leave an installation behind.
const started: Running[] = []
after(async () => {
  for (const { pid, ended } of started) {
    const identity = await identify(pid)
    if (identity) await stopProcess(identity, { graceMs: 60_000 })
    await ended
  }
})

async function startUp({ cwd, args }: Installation, env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const running = startCli(args, { cwd, env })
  started.push(running)
  await untilPrinted(running, "Data  ")
  return running
}

const file = <T>(cwd: string, path: string): T => JSON.parse(readFileSync(join(cwd, ".superstep", path), "utf8")) as T
const edgeOf = (cwd: string): ProcessIdentity => file<ProcessIdentity>(cwd, "edge/pid.json")
const controlOf = (cwd: string): ProcessIdentity => file<{ child: ProcessIdentity }>(cwd, "running.json").child
const postgresOf = (cwd: string): Promise<ProcessIdentity | undefined> =>
  identify(Number(readFileSync(join(cwd, ".superstep/postgres/data/postmaster.pid"), "utf8").split("\n")[0]))

const isHealthy = (url: string): Promise<boolean> =>
  fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  )

/** Signs in with the code of an address. @returns  the status, and whether the session is an operator's */
async function signIn(url: string, line: string) {
  const [, code] = /^http:\/\/127\.0\.0\.1:\d+\/sign-in#code=([\w-]+)\s*$/.exec(line) ?? []
  const body = JSON.stringify({ code })
  const headers = { "content-type": "application/json", origin: url }
  const reply = await fetch(`${url}/v2/console/sessions`, { method: "POST", headers, body })
  return [reply.status, ((await reply.json()) as { is_operator?: boolean }).is_operator]
}

test("the first start creates valid credentials that only the owner can read; superstep console signs in, a log does not and has no key; Ctrl-C stops everything, and the next start continues the same installation", async () => {
  const place = await installation(temporaryFolder())

  const running = await startUp(place)
  const credentials = file<Credentials>(place.cwd, "credentials.json")
  const headers = { "x-api-key": credentials.api_key, "x-tenant-id": credentials.tenant_id }
  const reply = await fetch(`${credentials.url}/v2/deployments`, { headers })
  const { stdout: address } = await runCli(["console"], { cwd: place.cwd })
  const signedIn = await signIn(place.url, address)
  const env = { XDG_STATE_HOME: join(place.cwd, ".state") }
  const listed = await runCli(["list", "--json"], { cwd: temporaryFolder(), env })
  const processes = [edgeOf(place.cwd), controlOf(place.cwd), await postgresOf(place.cwd)]
  const { code, stdout, stderr } = await interrupt(running)

  assert.equal(reply.status, 200)
  assert.deepEqual([listed.code, listed.stdout], [0, "[]\n"], listed.stderr)
  assert.deepEqual(signedIn, [201, true])
  assert.match(stderr, new RegExp(`Console +${place.url}/sign-in\n`))
  assert.equal(credentials.url, place.url)
  assert.equal(statSync(join(place.cwd, ".superstep/credentials.json")).mode & 0o777, 0o600)
  for (const word of [credentials.tenant_id, credentials.url]) assert.ok(stderr.includes(word), word)
  for (const key of [credentials.api_key, credentials.org_api_key])
    assert.equal(`${stdout}${stderr}`.includes(key), false)
  const [, command = ""] = /API key +api_key in credentials\.json: (.*)/.exec(stderr) ?? []
  assert.equal(execFileSync("sh", ["-c", command], { encoding: "utf8" }), `${credentials.api_key}\n`)
  assert.equal(code, 0)
  for (const identity of processes) assert.equal(identity && (await isAlive(identity)), false)
  assert.equal(existsSync(join(place.cwd, ".superstep/running.json")), false)

  // The example was deployed by a former start, and the key has been revoked since.
  writeFileSync(join(place.cwd, ".superstep/example.json"), JSON.stringify({ deployment_id: randomUUID() }))
  const revoked = { ...credentials, api_key: `${credentials.api_key}x` }
  writeFileSync(join(place.cwd, ".superstep/credentials.json"), JSON.stringify(revoked))
  const second = await startUp({ ...place, args: place.args.filter((arg) => arg !== "--no-example") })
  await untilPrinted(second, "the example is not shown: ")
  const after = file<Credentials>(place.cwd, "credentials.json")
  second.signal("SIGTERM")
  const ended = await second.ended

  assert.deepEqual(after, revoked)
  assert.equal(ended.code, 0)
})

test("a killed control plane is restarted, and the edge keeps running", {
  skip: unlessWide("starts an installation again"),
}, async () => {
  const place = await installation()
  const running = await startUp(place)
  const [edge, control] = [edgeOf(place.cwd), controlOf(place.cwd)]
  // Asks it to leave all this to another program; there is none.
  running.signal("SIGUSR2")

  process.kill(control.pid, "SIGKILL")
  await until(() => controlOf(place.cwd).pid !== control.pid && isHealthy(place.url), { what: "it is back" })

  assert.deepEqual(edgeOf(place.cwd), edge)
  assert.equal(await isAlive(edge), true)
  assert.ok(running.lines.some((line) => /control plane was killed by SIGKILL; restarting it/.test(line)))
  await interrupt(running)
  assert.equal(await isAlive(edge), false)
})

test("a killed Postgres is restarted with all acknowledged data", {
  skip: unlessWide("starts an installation again"),
}, async () => {
  const place = await installation()
  const running = await startUp(place)
  const postgres = await postgresOf(place.cwd)
  const keys = () => file<Credentials>(place.cwd, "credentials.json")
  const list = () =>
    fetch(`${place.url}/v2/deployments`, {
      headers: { "x-api-key": keys().api_key, "x-tenant-id": keys().tenant_id },
    })

  process.kill(postgres?.pid ?? 0, "SIGKILL")
  await until(() => running.lines.some((line) => /Postgres exited unexpectedly/.test(line)), { what: "it is noticed" })
  // A control plane that was still starting ends without its database, and is started again too.
  const answers = () =>
    list().then(
      ({ status }) => status === 200,
      () => false,
    )
  await until(answers, { what: "the API answers again" })

  assert.notEqual((await postgresOf(place.cwd))?.pid, postgres?.pid)
  await interrupt(running)
})

test("when the program itself is killed agents keep running, and the next start adopts everything", {
  skip: unlessWide("starts an installation again"),
}, async () => {
  const place = await installation()
  const first = await startUp(place)
  const [edge, control, postgres] = [edgeOf(place.cwd), controlOf(place.cwd), await postgresOf(place.cwd)]

  first.signal("SIGKILL")
  await first.ended
  assert.equal(await isAlive(edge), true)
  const doctor = await runCli(["doctor"], { cwd: place.cwd })
  const second = await startUp(place)

  assert.ok(second.lines.some((line) => /agents kept running .* supervises them again/.test(line)))
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, /no superstep up supervises them: start superstep up --port \d+ --agents-port \d+/)
  // As root with ports above 1023, and as a plain user: neither is fully isolated.
  assert.match(doctor.stdout, /^! .*(keys|files)/m)
  assert.equal(await isAlive(control), false)
  assert.deepEqual(edgeOf(place.cwd), edge)
  assert.deepEqual(await postgresOf(place.cwd), postgres)
  await interrupt(second)
  assert.equal(await isAlive(edge), false)
})

test("a restart by a service manager keeps agents and Postgres running, and so does a failed start", {
  skip: unlessWide("starts an installation again"),
}, async () => {
  const place = await installation()
  const first = await startUp(place, { SUPERSTEP_STOP_ALL_ON_EXIT: "0" })
  const [edge, control, postgres] = [edgeOf(place.cwd), controlOf(place.cwd), await postgresOf(place.cwd)]

  first.signal("SIGTERM")
  const { code, stderr } = await first.ended
  const failed = await runCli(place.args, { cwd: place.cwd, env: { SUPERSTEP_WATCH: "soon" } })

  assert.equal(code, 0)
  assert.match(stderr, /agents keep running unsupervised: start superstep up/)
  assert.equal(await isAlive(control), false)
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /SUPERSTEP_WATCH/)
  assert.deepEqual([edgeOf(place.cwd), await isAlive(edge)], [edge, true])
  assert.deepEqual(await postgresOf(place.cwd), postgres)
  const second = await startUp(place, { SUPERSTEP_STOP_ALL_ON_EXIT: "0" })
  assert.equal((await interrupt(second)).code, 0)
  assert.deepEqual([await isAlive(edge), postgres && (await isAlive(postgres))], [false, false])
})

test("a port in use is an error of one sentence that names the option for another", async () => {
  const place = await installation()
  const blocker = createServer()
  await new Promise<void>((resolve) => blocker.listen(Number(new URL(place.url).port), "127.0.0.1", resolve))

  const { code, stderr } = await runCli(place.args, { cwd: place.cwd })
  blocker.close()

  assert.equal(code, 1)
  assert.match(stderr, /^✖ port \d+ is in use: choose another with --port\n {2}See docs\/errors\.md#port_in_use\n$/)
})

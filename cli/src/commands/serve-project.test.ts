import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, test } from "node:test"
import { promisify } from "node:util"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess, untilGone } from "@superstep/toolkit/exec/stop-process"
import { fakePooler } from "@superstep/toolkit/testing/fake-pooler"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { testCluster } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { preparedFolder } from "../testing/prepared-folder.js"
import { printedCurl } from "../testing/printed-curl.js"
import { makeProject, waitingGraph } from "../testing/project.js"
import { interrupt, type Running, runCli, startCli, untilPrinted } from "../testing/run-cli.js"

const started: Running[] = []
after(async () => {
  for (const { pid, ended } of started) {
    const identity = await identify(pid)
    if (identity) await stopProcess(identity, { graceMs: 60_000 })
    await ended
  }
})

/** @param given  the folder of a project; that of one with a Postgres by default */
async function startServer(command: "dev" | "serve", given?: string, env: NodeJS.ProcessEnv = {}) {
  const cwd = given ?? (await preparedFolder(makeProject()))
  const port = await freePort()
  const running = startCli([command, "--port", String(port)], { cwd, env: { SUPERSTEP_WORKERS: "1", ...env } })
  started.push(running)
  await untilPrinted(running, "  Try ")
  return { running, cwd, url: `http://127.0.0.1:${port}` }
}

async function post<T>(url: string, body: object): Promise<T> {
  const reply = await fetch(url, { method: "POST", body: JSON.stringify(body) })
  assert.equal(reply.status, 200)
  return (await reply.json()) as T
}

const childOf = (cwd: string): ProcessIdentity =>
  (JSON.parse(readFileSync(join(cwd, ".superstep/running.json"), "utf8")) as { child: ProcessIdentity }).child
const postgresOf = (cwd: string): Promise<ProcessIdentity | undefined> =>
  identify(Number(readFileSync(join(cwd, ".superstep/postgres/data/postmaster.pid"), "utf8").split("\n")[0]))

test("serve without one graph that loads exits with the reason, and dev goes on", {
  skip: unlessWide("starts two servers"),
}, async () => {
  const cwd = await preparedFolder(makeProject('const password = "hunter2"\nthrow new Error("no database")\n'))
  const port = await freePort()
  const serve = startCli(["serve", "--port", String(port)], { cwd, env: { SUPERSTEP_WORKERS: "1" } })
  started.push(serve)

  const { code, stdout, stderr } = await serve.ended
  const dev = await startServer("dev", cwd)
  const run = await fetch(`${dev.url}/runs`, {
    method: "POST",
    body: JSON.stringify({ assistant_id: "echo", input: {} }),
  })
  const answer = await run.text()
  const developer = await interrupt(dev.running)

  assert.equal(code, 1)
  assert.match(stdout + stderr, /langgraph\.json\.echo: .*no database/)
  assert.equal(run.status, 409)
  assert.match(answer, /no database/)
  assert.doesNotMatch(answer, /hunter2/, "callers get no lines of the source")
  assert.match(developer.stdout + developer.stderr, /hunter2/, "the developer gets them")
})

test("serve and dev refuse a pooler that shares sessions, and say what to use", {
  skip: unlessWide("starts two programs"),
}, async () => {
  await using pooler = await fakePooler(await testCluster())
  const env = { DATABASE_URI: pooler.uri }
  const cwd = makeProject()

  for (const command of ["serve", "dev"]) {
    const refused = startCli([command, "--port", String(await freePort())], { cwd, env })
    started.push(refused)
    const { code, stdout, stderr } = await refused.ended

    assert.equal(code, 1, command)
    assert.match(stdout + stderr, /PgBouncer with pool_mode = transaction.*a pool with pool_mode = session/)
  }
})

test("the command that dev prints streams an answer, a second dev names the first, Ctrl-C stops its server and Postgres, and the next has its threads", async () => {
  const first = await startServer("dev", makeProject())
  const { stdout } = await promisify(execFile)("sh", ["-c", printedCurl(first.running.lines)])
  const reply = await fetch(`${first.url}/threads`, { method: "POST", body: "{}" })
  const { thread_id } = (await reply.json()) as { thread_id: string }
  const processes = [childOf(first.cwd), await postgresOf(first.cwd)]

  const refused = await runCli(["dev", "--port", String(await freePort())], { cwd: first.cwd })
  const { code, stderr } = await interrupt(first.running)

  assert.match(stdout, /^event: metadata\ndata: \{"run_id":"[0-9a-f-]{36}","attempt":1\}/m)
  assert.match(stdout, /^event: end\ndata: .*"status":"success"/m)
  assert.equal(code, 0, stderr)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /superstep dev is already running on .* \(process \d+\)/)
  assert.equal(existsSync(join(first.cwd, ".superstep/running.json")), false)
  for (const identity of processes) assert.equal(identity && (await isAlive(identity)), false)
  const second = await startServer("dev", first.cwd)
  const found = await fetch(`${second.url}/threads/${thread_id}`)
  await interrupt(second.running)

  assert.equal(found.status, 200)
})

test("after dev and its server are killed, the next dev starts and continues their runs at once", {
  skip: unlessWide("starts dev twice"),
}, async () => {
  // Whoever does not know the runs for its own would have to wait so long.
  const env = { SUPERSTEP_LEASE_SECONDS: "3600" }
  const cwd = await preparedFolder(makeProject(waitingGraph))
  const first = await startServer("dev", cwd, env)
  const server = childOf(cwd)
  const { thread_id } = await post<{ thread_id: string }>(`${first.url}/threads`, {})
  const body = { assistant_id: "echo", input: { messages: [] } }
  const { run_id } = await post<{ run_id: string }>(`${first.url}/threads/${thread_id}/runs`, body)
  const runAt = async (url: string) => {
    const reply = await fetch(`${url}/threads/${thread_id}/runs/${run_id}`)
    return (await reply.json()) as { status: string; attempt: number }
  }
  await until(async () => (await runAt(first.url)).status === "running", { what: "the run executes" })

  process.kill(server.pid, "SIGKILL")
  first.running.signal("SIGKILL")
  await first.running.ended
  const second = await startServer("dev", cwd, env)
  await until(async () => (await runAt(second.url)).attempt === 2, { what: "its next attempt" })
  writeFileSync(join(cwd, "gate"), "")
  await until(async () => (await runAt(second.url)).status === "success", { what: "the run ends" })

  assert.equal(await untilGone(server, 20_000), true)
  assert.equal((await interrupt(second.running)).code, 0)
})

test("serve writes JSON log lines to a pipe, without the key that its example needs, and dev formats them", {
  skip: unlessWide("starts a server"),
}, async () => {
  const [serve, dev] = [
    await startServer("serve", undefined, { SUPERSTEP_API_KEYS: "secret-key" }),
    await startServer("dev"),
  ]
  const isLogged = (running: Running) => () => running.lines.some((line) => line.includes("server ready"))
  for (const { running } of [serve, dev]) await until(isLogged(running), { what: "the server says that it is ready" })

  for (const { running } of [serve, dev]) running.signal("SIGTERM")
  const [raw, readable] = [await serve.running.ended, await dev.running.ended]

  for (const line of raw.stdout.trim().split("\n")) assert.equal(typeof JSON.parse(line), "object")
  assert.match(readable.stdout, /^\d\d:\d\d:\d\d {2}info {3}server ready/m)
  assert.match(printedCurl(serve.running.lines), /-H 'x-api-key: <one of SUPERSTEP_API_KEYS>'/)
  assert.doesNotMatch(serve.running.lines.join("\n"), /secret-key/)
})

/** An operator's day with the command line, on one installation: each test goes on from the one before. */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import type { Deployment, Revision } from "../platform/deployments.js"
import { preparedFolder } from "../testing/prepared-folder.js"
import { type Ended, interrupt, type Running, runCli, startUp } from "../testing/run-cli.js"

const agent = fileURLToPath(new URL("../../../tests/agent", import.meta.url))
// An install takes five seconds of processor time (tests/src/streaming.test.ts has one, as a wide test).
const linkPackages = `ln -s '${fileURLToPath(new URL("../../../node_modules", import.meta.url))}' node_modules`
const oneWorker = { SUPERSTEP_WORKERS: "1" }
const cwd = temporaryFolder()
const project = join(cwd, "my-agent")
let up: Running
/** Where the installation is; the restored one is elsewhere. */
let place = cwd

const cli = (...args: string[]): Promise<Ended> => runCli(args, { cwd: place })
const json = async <T>(...args: string[]): Promise<T> => {
  const { code, stdout, stderr } = await cli(...args, "--json")
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}`)
  return JSON.parse(stdout) as T
}
const events = ({ stdout }: Ended) =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; status?: string; url?: string; message?: string })

const addressOfAgent = async (): Promise<string> => (await json<{ url: string }>("open", "my-agent")).url

/** Runs a graph through the public address, with the key of the data folder. */
const ask = async (path: string, body?: object): Promise<unknown> => askAt(await addressOfAgent(), path, body)

const unitsOfPlace = (): string[] => readdirSync(join(place, ".superstep/units"))
const keyOfPlace = (): string => JSON.parse(readFileSync(join(place, ".superstep/credentials.json"), "utf8")).api_key

async function askAt(url: string, path: string, body?: object): Promise<unknown> {
  const headers = { "x-api-key": keyOfPlace(), "content-type": "application/json" }
  const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers }
  const response = await fetch(`${url}${path}`, init)
  assert.equal(response.ok, true, await response.clone().text())
  return response.json()
}

/** The developer keeps the project in git. */
function commitProject(message: string): void {
  const person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
  execFileSync("git", ["init", "--quiet", "--initial-branch=main"], { cwd: project })
  execFileSync("git", ["add", "--all"], { cwd: project })
  execFileSync("git", [...person, "commit", "--quiet", "--message", message], { cwd: project })
}

before(async () => {
  cpSync(agent, project, { recursive: true, filter: (path) => !path.includes("node_modules") })
  writeFileSync(join(project, ".env"), "GREETING=hello\nDATABASE_URI=postgres://not-yours\n")
  const config = JSON.parse(readFileSync(join(project, "langgraph.json"), "utf8")) as object
  writeFileSync(join(project, "langgraph.json"), JSON.stringify({ ...config, env: ".env" }))
  commitProject("fix: the greeting")
  up = await startUp(await preparedFolder(cwd), oneWorker)
})
after(() => interrupt(up))

let threadId = ""

test("an empty list prints a message for people and nothing for scripts", async () => {
  const [all, some] = [await cli("list"), await cli("list", "--name-contains", "chat")]

  assert.deepEqual([all.code, all.stdout], [0, ""])
  assert.equal(all.stderr, "no deployments yet: create one with superstep deploy\n")
  assert.equal(some.stderr, "no deployment name contains chat\n")
  assert.deepEqual(await json("list"), [])
})

test("a folder is deployed: its address answers, its .env became secrets", async () => {
  const deployed = await cli("deploy", "my-agent", "-m", "a calmer bot", "--install-command", linkPackages, "--json")

  assert.equal(deployed.code, 0, deployed.stderr + deployed.stdout)
  const reported = events(deployed)
  assert.equal(reported.at(-1)?.event, "result")
  assert.equal(reported.at(-1)?.status, "DEPLOYED")
  assert.ok(reported.some(({ event, status }) => event === "status_change" && status === "BUILDING"))
  assert.ok(reported.some(({ event, message }) => event === "warn" && message?.includes("DATABASE_URI")))
  assert.deepEqual(await json<string[]>("secrets", "list", "my-agent"), ["GREETING"])
  const thread = (await ask("/threads", {})) as { thread_id: string }
  threadId = thread.thread_id
  const input = { messages: [{ role: "user", content: "remember this" }] }
  await ask(`/threads/${threadId}/runs/wait`, { assistant_id: "chat", input })
})

test("threads are imported to a deployment by its name; those that are there already stay", {
  skip: unlessWide("tests/src/import.test.ts imports by addresses"),
}, async () => {
  const key = keyOfPlace()
  const from = ["--from", await addressOfAgent()]

  const imported = await runCli(["import", "my-agent", ...from], { cwd: place, env: { SUPERSTEP_FROM_API_KEY: key } })
  const refused = await cli("import", "my-agent", ...from)

  const [, threads] = imported.stdout.split("\n")
  assert.equal(threads, "threads: 0 imported with 0 checkpoints, 1 were on the new server already")
  assert.equal(imported.code, 0, imported.stderr)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /\(401\)|\(403\)/)
})

test("deployments are listed, with their revisions, what these are for, and logs", {
  skip: unlessWide("starts the CLI seven times"),
}, async () => {
  const [deployment] = await json<Deployment[]>("list")
  const revisions = await json<Revision[]>("revisions", "my-agent")
  const [inWords, unknown] = [await cli("list"), await cli("revisions", "nobody")]
  const revisionsInWords = await cli("revisions", "my-agent")
  const log = await cli("logs", "my-agent", "--limit", "1000")
  const build = await cli("logs", "my-agent", "--type", "build")

  assert.equal(deployment?.name, "my-agent")
  assert.deepEqual(fieldsOf(revisions, "id", "status"), [[deployment?.active_revision_id, "DEPLOYED"]])
  assert.equal(revisions[0]?.message, "a calmer bot")
  const { sha = "", ...commit } = revisions[0]?.commit ?? {}
  assert.match(sha, /^[0-9a-f]{40}$/)
  assert.deepEqual(commit, { message: "fix: the greeting", author: "Ada", branch: "main", is_dirty: false })
  assert.match(revisionsInWords.stdout, /DEPLOYED \(serves\) .* a calmer bot +[0-9a-f]{7} main *\n/)
  assert.match(inWords.stdout, /^name +status[^\n]*\nmy-agent +healthy +a calmer bot /)
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /there is no deployment nobody; there are my-agent/)
  assert.match(log.stdout, /server ready/)
  assert.match(build.stdout, /ln -s/)
})

test("a broken change fails with the reason and the end of the log, and the former revision keeps serving", {
  skip: unlessWide("deploys again"),
}, async () => {
  writeFileSync(join(project, "src/chat.ts"), "export const graph = (")

  const failed = await cli("deploy", "my-agent")
  const listed = await cli("list")

  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /BUILD_FAILED/)
  assert.match(listed.stdout, /\nmy-agent +healthy +BUILD_FAILED \(graph_load_failed\) +fix: the greeting /)
  const { stdout } = await cli("revisions", "my-agent")
  assert.match(stdout, /fix: the greeting +[0-9a-f]{7} main \+ changes +graph_load_failed\n/)
  assert.match(failed.stderr, /chat\.ts/)
  const log = failed.stderr.split("\n").flatMap((line) => /│ (.*\S)/.exec(line)?.[1] ?? [])
  const reason = failed.stderr.split("\n").filter((line) => !line.includes("│"))
  assert.ok(log.length > 5)
  assert.ok(!reason.some((line) => log.includes(line.trim())), "the log's end is shown once")
  await ask("/info")
})

test("a changed secret is told with when it applies", { skip: unlessWide("starts the CLI twice") }, async () => {
  const set = await cli("secrets", "set", "my-agent", "LATER", "--no-deploy")
  const unset = await cli("secrets", "unset", "my-agent", "LATER", "--no-deploy")

  assert.equal(set.stdout, "LATER is set from the next revision on\n", set.stderr)
  assert.equal(unset.stdout, "LATER is removed from the next revision on\n", unset.stderr)
})

test("a path instead of a repository's address is refused with the right address", {
  skip: unlessWide("starts the CLI three times"),
}, async () => {
  for (const path of [project, "./my-agent", "my-agent"]) {
    const refused = await cli("deploy", "--repo", path)
    assert.equal(refused.code, 1)
    assert.ok(refused.stderr.includes(`--repo file://${project}`), refused.stderr)
  }
})

test("a rollback restores the former revision", {
  skip: unlessWide("deploys again"),
}, async () => {
  cpSync(join(agent, "src/chat.ts"), join(project, "src/chat.ts"))
  const redeployed = await cli("deploy", "my-agent", "--json")
  assert.equal(redeployed.code, 0, redeployed.stderr)
  const [newest] = await json<Revision[]>("revisions", "my-agent")

  const rolledBack = await cli("rollback", "my-agent", "--json")
  const [now] = await json<Revision[]>("revisions", "my-agent")

  assert.equal(events(rolledBack).at(-1)?.status, "DEPLOYED", rolledBack.stderr)
  assert.equal(now?.trigger, "rollback")
  assert.equal(now?.message, "a calmer bot")
  assert.match((await cli("revisions", "my-agent")).stdout, / rollback to …[0-9a-f]{8} +a calmer bot +[0-9a-f]{7} main/)
  assert.notEqual(now?.id, newest?.id)
})

test("a restart replaces the agent server and returns when the new one answers", {
  skip: unlessWide("starts the agent again"),
}, async () => {
  const startedAt = async () => {
    const metrics = (await ask("/metrics?format=json")) as { name: string; values: { value: number }[] }[]
    return metrics.find(({ name }) => name === "process_start_time_seconds")?.values[0]?.value ?? 0
  }
  const before = await startedAt()

  const restarted = await cli("restart", "my-agent")

  assert.equal(restarted.code, 0, restarted.stderr)
  assert.match(restarted.stdout, /my-agent was restarted and answers/)
  assert.ok((await startedAt()) > before)
})

test("a backup of a running installation is restored as another one with the same threads", {
  skip: unlessWide("starts a second installation"),
}, async () => {
  const file = join(cwd, "all.tar.gz")
  const written = await cli("backup", file)
  const refused = await cli("restore", file)
  await interrupt(up)
  const former = unitsOfPlace()

  place = temporaryFolder()
  const restored = await cli("restore", file)
  assert.equal(restored.code, 0, restored.stderr)
  assert.match(restored.stderr, /Start it with superstep up --home /)
  up = await startUp(place, oneWorker)
  const state = await untilAnswered(`/threads/${threadId}/state`)

  assert.equal(written.code, 0, written.stderr)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /Superstep is running on/)
  assert.match(JSON.stringify(state), /remember this/)
  // Processes are found by these ids, and the original may run beside it.
  assert.ok(unitsOfPlace().length > 0 && !unitsOfPlace().some((id) => former.includes(id)))
})

test("a deployment is deleted only with --yes", async () => {
  const [asked, done] = [await cli("delete", "my-agent"), await cli("delete", "my-agent", "--yes")]

  assert.equal(asked.code, 1)
  assert.match(asked.stderr, /confirm with --yes/)
  assert.equal(done.code, 0, done.stderr)
})

/** A unit of a restored installation is started with it. */
async function untilAnswered(path: string): Promise<unknown> {
  const url = await addressOfAgent()
  let answer: unknown
  const isAnswered = async () => {
    // A refused connection and a 503 are what it says until its unit is up; another answer shows as a wait in vain.
    answer = await askAt(url, path).catch(() => undefined)
    return answer !== undefined
  }
  await until(isAnswered, { what: `${path} answers`, timeoutMs: 60_000 })
  return answer
}

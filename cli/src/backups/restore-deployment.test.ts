/** One deployment of a real installation is brought back from a backup; its neighbour is left alone. */
import assert from "node:assert/strict"
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong, unlessWide } from "@superstep/toolkit/testing/wide-tests"
import type { Deployment, Revision } from "../platform/deployments.js"
import { preparedFolder } from "../testing/prepared-folder.js"
import { interrupt, type Running, runCli, startCli, startUp } from "../testing/run-cli.js"

const agent = fileURLToPath(new URL("../../../tests/agent", import.meta.url))
const oneWorker = { SUPERSTEP_WORKERS: "1" }
const cwd = temporaryFolder()
const file = join(cwd, "backup.tar.gz")
let place = cwd
let up: Running

const approve = `
import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph"
const State = Annotation.Root({ answer: Annotation<string> })
export const graph = new StateGraph(State)
  .addNode("ask", () => ({ answer: process.env.GREETING + " " + interrupt("who?") }))
  .addEdge(START, "ask").addEdge("ask", END).compile()
`

const cli = (...args: string[]) => runCli(args, { cwd: place })
async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await cli(...args, "--json")
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}`)
  return JSON.parse(stdout) as T
}

const readCredentials = (folder: string) =>
  JSON.parse(readFileSync(join(folder, ".superstep/credentials.json"), "utf8")) as { api_key: string; url: string }
const keyOf = (folder: string): string => readCredentials(folder).api_key

const addressOf = async (name: string): Promise<string> => (await json<{ url: string }>("open", name)).url

/** Calls an agent by its public address. */
const ask = async (name: string, path: string, body?: object): Promise<Response> =>
  askAt(await addressOf(name), path, body)

function askAt(url: string, path: string, body?: object): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: body ? "POST" : "GET",
    headers: { "x-api-key": keyOf(place), "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  })
}

/** The answer as soon as the agent is there: its unit starts after the restore. */
async function untilAnswered(name: string, path: string, body?: object) {
  const url = await addressOf(name)
  let last = "no answer"
  return until(
    async () => {
      const reply = await askAt(url, path, body).catch((error: Error) => {
        last = error.message
      })
      if (!reply) return undefined
      last = await reply.text()
      return reply.ok && { answer: JSON.parse(last) }
    },
    { what: `${path} is answered`, timeoutMs: 90_000 },
  ).catch((cause: unknown) => {
    throw new Error(last, { cause })
  })
}

const run = (input: object) => ({ assistant_id: "approve", ...input })
let threadId = ""
let deploymentId = ""

// Two agents are built and started, which takes half a minute of processor time.
const skip = unlessWide("builds and starts two agents")

before(async () => {
  if (skip) return
  const project = join(cwd, "one")
  cpSync(agent, project, { recursive: true, filter: (path) => !path.includes("node_modules") })
  writeFileSync(join(project, "src/approve.ts"), approve)
  writeFileSync(join(project, ".env"), "GREETING=hello\n")
  const graphs = { approve: "./src/approve.ts:graph" }
  writeFileSync(join(project, "langgraph.json"), JSON.stringify({ node_version: "20", graphs, env: ".env" }))
  cpSync(project, join(cwd, "other"), { recursive: true })
  up = await startUp(await preparedFolder(cwd), oneWorker)
  for (const name of ["one", "other"]) {
    const deployed = await cli("deploy", name)
    assert.equal(deployed.code, 0, deployed.stderr)
  }
  const [one] = await json<Deployment[]>("list", "--name-contains", "one")
  deploymentId = one?.id ?? ""
  threadId = ((await (await ask("one", "/threads", {})).json()) as { thread_id: string }).thread_id
  const paused = await ask("one", `/threads/${threadId}/runs/wait`, run({ input: {} }))
  assert.ok(paused.ok, await paused.text())
  const written = await cli("backup", file)
  assert.equal(written.code, 0, written.stderr)
})
after(async () => {
  if (!skip) await interrupt(up)
})

test("a deployment that exists, or that the backup does not have, is refused and nothing is changed", {
  skip,
}, async () => {
  const list = () => json<Deployment[]>("list")
  const before = await list()

  const existing = await cli("restore", file, "--deployment", "one")
  const unknown = await cli("restore", file, "--deployment", "nobody")
  const taken = await cli("restore", file, "--deployment", "one", "--replace", "--name", "other")
  const stray = await cli("restore", file, "--replace")

  assert.deepEqual([existing.code, unknown.code, taken.code, stray.code], [1, 1, 1, 1])
  assert.match(existing.stderr, /exists: replace it with --replace/)
  assert.match(unknown.stderr, /the backup has no deployment nobody/)
  assert.match(taken.stderr, /another deployment is called other/)
  assert.match(stray.stderr, /--replace is only for a single deployment/)
  assert.deepEqual(fieldsOf(await list(), "id", "active_revision_id"), fieldsOf(before, "id", "active_revision_id"))
  assert.equal(existsSync(join(place, ".superstep/restoring")), false)
})

test("a deployment that was deleted comes back under its id, and a conversation that waits for a person goes on", {
  skip,
}, async () => {
  const revisions = await json<Revision[]>("revisions", "one")
  const otherBefore = await (await ask("other", "/metrics")).text()
  const deleted = await cli("delete", "one", "--yes")
  assert.equal(deleted.code, 0, deleted.stderr)
  await until(() => readdirSync(join(place, ".superstep/artifacts")).length === 1, { what: "its files are gone" })
  const killed = startCli(["restore", file, "--deployment", "one"], { cwd: place })
  const pidFile = join(place, ".superstep/restoring/postgres/data/postmaster.pid")
  await until(() => existsSync(pidFile), { what: "the backup's Postgres runs" })
  killed.signal("SIGKILL")
  await killed.ended

  const platform = readCredentials(place).url
  const isGone = async () =>
    (await fetch(`${platform}/v2/deployments/${deploymentId}`, { headers: { "x-api-key": keyOf(place) } })).status ===
    404
  await until(isGone, { what: "the former one is gone", timeoutMs: 90_000 })
  const restored = await cli("restore", file, "--deployment", "one")

  assert.equal(restored.code, 0, restored.stderr)
  const { answer } = await untilAnswered("one", `/threads/${threadId}/runs/wait`, run({ command: { resume: "world" } }))
  assert.equal(answer.answer, "hello world", "the state, and the secret, are those of the backup")
  const now = await json<Revision[]>("revisions", "one")
  assert.deepEqual(fieldsOf(now, "id", "status"), fieldsOf(revisions, "id", "status"))
  const startOf = (text: string) => /^process_start_time_seconds \S+/m.exec(text)?.[0] ?? assert.fail(text)
  assert.equal(startOf(await (await ask("other", "/metrics")).text()), startOf(otherBefore), "the neighbour went on")
  assert.equal(existsSync(join(place, ".superstep/restoring")), false)
})

test("a restored deployment can be deployed to again, and be replaced by the backup's state", { skip }, async () => {
  const redeployed = await cli("deploy", "one")
  assert.equal(redeployed.code, 0, redeployed.stderr)

  const replaced = await cli("restore", file, "--deployment", deploymentId, "--replace", "--name", "uno")

  assert.equal(replaced.code, 0, replaced.stderr)
  const state = await untilAnswered("uno", `/threads/${threadId}/state`)
  assert.equal(state.answer.tasks[0].interrupts[0].value, "who?", "it waits again")
  assert.deepEqual((await json<Revision[]>("revisions", "uno")).length, 1)
})

test("another installation, which does not run, gets the deployment with its next start", {
  skip: skip || unlessLong("starts two installations more"),
}, async () => {
  const first = up
  const elsewhere = await preparedFolder()
  const empty = await runCli(["restore", file, "--deployment", "one"], { cwd: temporaryFolder() })
  const other = await startUp(elsewhere, oneWorker)
  await interrupt(other)
  place = elsewhere

  const restored = await cli("restore", file, "--deployment", "one")
  up = await startUp(elsewhere, oneWorker)
  await interrupt(first)

  assert.equal(empty.code, 1)
  assert.match(empty.stderr, /start one with superstep up/)
  assert.equal(restored.code, 0, restored.stderr)
  const { answer } = await untilAnswered("one", `/threads/${threadId}/runs/wait`, run({ command: { resume: "again" } }))
  assert.equal(answer.answer, "hello again")
})

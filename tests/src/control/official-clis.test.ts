/** The vendor's deploy CLIs, unmodified, against an installation of ours (C2 of control-plane §2.6). */
import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { cp, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { type Platform, startPlatform } from "../testing/platform.js"
import { versionFile } from "../testing/repository.js"

const skip =
  process.env.SUPERSTEP_WIDE_TESTS !== "1" && "needs the package registries: .ci/run runs it, or SUPERSTEP_WIDE_TESTS=1"
const python = process.env.SUPERSTEP_TEST_PYTHON
const agentFolder = fileURLToPath(new URL("../../agent", import.meta.url))

// The last release of the JavaScript CLI that has `deploy`.
const javascript = ["npx", "-y", "@langchain/langgraph-cli@1.5.1"]

let platform: Platform
const folder = temporaryFolder()
before(async () => {
  if (skip) return
  platform = await startPlatform()
  await cp(agentFolder, folder, { recursive: true, filter: (path) => !path.includes("node_modules") })
  await writeFile(join(folder, ".env"), "MODEL_KEY=sk-only-a-secret\n")
})
after(() => platform?.[Symbol.asyncDispose]())

/** Runs a CLI in the project. @throws when it ends with another code than 0; what it printed is in the error */
async function run(command: readonly string[], ...args: string[]): Promise<string> {
  const [program = "", ...rest] = command
  const target = ["--host-url", platform.credentials.url, "--api-key", platform.credentials.api_key]
  const { PATH = "", HOME = "" } = process.env
  const options = { cwd: folder, env: { PATH, HOME, NO_COLOR: "1" }, timeout: 1_000_000, maxBuffer: 64 * 1024 * 1024 }
  const { stdout, stderr } = await promisify(execFile)(program, [...rest, "deploy", ...args, ...target], options)
  return `${stdout}\n${stderr}`
}

const greetingOf = async (name: string): Promise<string> => {
  const body = JSON.stringify({ assistant_id: "chat", input: { messages: [{ role: "user", content: "hi" }] } })
  const headers = { "content-type": "application/json", "x-api-key": platform.credentials.api_key }
  return (await fetch(`${platform.agentsUrl}/d/${name}/runs/wait`, { method: "POST", headers, body })).text()
}

/** Everything a CLI does with one deployment, from nothing to nothing. */
async function wholeLife(cli: readonly string[], name: string): Promise<void> {
  const deployed = await run(cli, "--name", name, "--remote", "--no-input", "--verbose")
  const ok = await fetch(`${platform.agentsUrl}/d/${name}/ok`)
  assert.match(deployed, /successful/i)
  assert.ok(deployed.includes(`${platform.agentsUrl}/d/${name}`), deployed)
  assert.deepEqual([ok.status, await ok.json()], [200, { ok: true }])

  await writeFile(join(folder, "src/version.ts"), Object.values(versionFile(`changed-by-${name}`)).join(""))
  const events = (await run(cli, "--name", name, "--remote", "--no-input", "--json"))
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
  assert.equal(events.at(-1).event, "result", JSON.stringify(events))
  assert.equal(events.at(-1).status, "succeeded")
  assert.match(await greetingOf(name), new RegExp(`changed-by-${name}`))
  const id: string = events.at(-1).deployment_id

  const list = await run(cli, "list")
  assert.ok(list.includes(id) && list.includes(name), list)
  const revisions = await run(cli, "revisions", "list", id)
  assert.match(revisions, /DEPLOYED[\s\S]*REPLACED/)
  const build = await run(cli, "logs", "--deployment-id", id, "--type", "build")
  assert.match(build, /fetch the uploaded archive/)
  assert.ok(!`${build}${deployed}`.includes("sk-only-a-secret"))
  assert.match(await run(cli, "logs", "--deployment-id", id), /server ready/)
  assert.match(await follow(cli, id), /server ready/)

  await run(cli, "delete", id, "--force")
  const isGone = async () => (await platform.api("GET", `/v2/deployments/${id}`)).status === 404
  await until(isGone, { what: "the deployment is gone", timeoutMs: 120_000 })
}

/** Follows the log until a line came, then ends the CLI as a terminal's Ctrl-C does: with all that it started. */
async function follow(cli: readonly string[], id: string): Promise<string> {
  const [program = "", ...rest] = cli
  const target = ["--host-url", platform.credentials.url, "--api-key", platform.credentials.api_key]
  const { PATH = "", HOME = "", TMPDIR = "" } = process.env
  const child = spawn(program, [...rest, "deploy", "logs", "--follow", "--deployment-id", id, ...target], {
    cwd: folder,
    env: { PATH, HOME, TMPDIR, PYTHONUNBUFFERED: "1" },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  })
  let printed = ""
  child.stdout.on("data", (text: Buffer) => (printed += text.toString()))
  // Its output ends with the last of its processes.
  const ended = once(child, "close")
  try {
    await until(() => printed.includes("server ready"), { what: "a line of the log", timeoutMs: 60_000 })
  } finally {
    process.kill(-(child.pid ?? 0), "SIGINT")
    await ended
  }
  return printed
}

test("the JavaScript CLI deploys, redeploys, lists, shows logs and deletes", { skip }, async () => {
  await wholeLife(javascript, "by-javascript")
})

const withoutPython = skip || (!python && "SUPERSTEP_TEST_PYTHON names no Python with langgraph-cli")
test("the Python CLI deploys, redeploys, lists, shows logs and deletes", { skip: withoutPython }, async () => {
  await wholeLife([join(dirname(python ?? ""), "langgraph")], "by-python")
})

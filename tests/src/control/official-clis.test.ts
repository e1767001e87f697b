/** The vendor's deploy CLIs, unmodified, against an installation of ours (C2 of control-plane §2.6). */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { cp, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import type { Platform } from "../testing/installation.js"
import { onlyWithProcesses } from "../testing/machines/machine-of-run.js"
import {
  type Cli,
  followLog,
  javascript,
  pythonCli,
  runCli,
  withoutRegistries as skip,
  withoutPython,
} from "../testing/official-cli.js"
import { startPlatform } from "../testing/platform.js"
import { versionFile } from "../testing/repository.js"

const superstep = fileURLToPath(import.meta.resolve("superstep/main"))
const folderOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

let platform: Platform
const folder = temporaryFolder()
before(async () => {
  if (skip) return
  platform = await startPlatform()
  await copyAgent("agent", folder)
  await writeFile(join(folder, ".env"), "MODEL_KEY=sk-only-a-secret\n")
})
after(() => platform?.[Symbol.asyncDispose]())

const copyAgent = (name: string, target: string) =>
  cp(folderOf(name), target, { recursive: true, filter: (path) => !/node_modules|__pycache__/.test(path) })

/** Runs a CLI in the test's project. @throws when it exits with another code than 0; what it printed is in the error */
const run = (cli: Cli, ...args: string[]): Promise<string> => runIn(folder, cli, ...args)

const runIn = (cwd: string, cli: Cli, ...args: string[]): Promise<string> => runCli(cli, { platform, cwd }, ...args)

const follow = (cli: Cli, id: string, cwd = folder): Promise<string> =>
  followLog(cli, { platform, cwd }, id, "server ready")

const greetingOf = async (name: string): Promise<string> => {
  const body = JSON.stringify({ assistant_id: "chat", input: { messages: [{ role: "user", content: "hi" }] } })
  const headers = { "content-type": "application/json", "x-api-key": platform.credentials.api_key }
  return (await fetch(`${platform.agentsUrl}/d/${name}/runs/wait`, { method: "POST", headers, body })).text()
}

interface Project {
  readonly folder: string
  /** The files that make it greet as this version. */
  greets(version: string): Readonly<Record<string, string>>
}

const typescript: Project = { folder, greets: (version) => versionFile(version) }

/** What the graph said, without ids. */
const sayings = (reply: string) => (/hello from [\w-]+/.exec(reply) ?? [reply])[0]

/** Everything a CLI does with one deployment, from nothing to nothing. */
async function wholeLife(cli: Cli, name: string, { folder, greets }: Project = typescript): Promise<void> {
  const run = (cli: Cli, ...args: string[]): Promise<string> => runIn(folder, cli, ...args)
  const deployed = await run(cli, "--name", name, "--remote", "--no-input", "--verbose")
  const ok = await fetch(`${platform.agentsUrl}/d/${name}/ok`)
  assert.match(deployed, /successful/i)
  assert.ok(deployed.includes(`${platform.agentsUrl}/d/${name}`), deployed)
  assert.deepEqual([ok.status, await ok.json()], [200, { ok: true }])

  const before = await greetingOf(name)
  for (const [path, text] of Object.entries(greets(`changed-by-${name}`))) await writeFile(join(folder, path), text)
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
  assert.match(await follow(cli, id, folder), /server ready/)

  const { status } = await platform.api("POST", `/v2/deployments/${id}/rollback`)
  assert.equal(status, 200)
  const isBack = async () => sayings(await greetingOf(name)) === sayings(before)
  await until(isBack, { what: "the former revision answers again", timeoutMs: 120_000 })

  await run(cli, "delete", id, "--force")
  const isGone = async () => (await platform.api("GET", `/v2/deployments/${id}`)).status === 404
  await until(isGone, { what: "the deployment is gone", timeoutMs: 120_000 })
}

/** What `superstep new` makes, untouched. */
async function newProject(name: string): Promise<string> {
  const project = join(temporaryFolder(), name)
  await promisify(execFile)(process.execPath, [superstep, "new", project])
  return project
}

/** Deploys the template, and opens the link that the CLI prints. */
async function deployTemplate(cli: Cli, name: string): Promise<void> {
  const project = await newProject(name)

  const printed = await runIn(project, cli, "--name", name, "--remote", "--no-input")
  const [link = ""] = /https?:\/\/\S+\/host\/deployments\/[0-9a-f-]{36}/.exec(printed) ?? []
  const page = await fetch(link)
  const text = await page.text()

  assert.match(await greetingOf(name), /"messages"/)
  assert.deepEqual([page.status, page.headers.get("content-type")], [200, "text/html; charset=UTF-8"])
  const id = link.slice(-36)
  assert.ok(text.includes(id) && !text.includes(name), "without a key it tells what stands in its address, and no more")
  await run(cli, "delete", id, "--force")
}

// They show something about the CLIs, and nothing about where agents run.
const ofTheCli = onlyWithProcesses("the other tests of this file deploy on this machine")

test("the JavaScript CLI deploys what superstep new makes", { skip: skip || ofTheCli }, () =>
  deployTemplate(javascript, "made-javascript"),
)

test("the JavaScript CLI deploys, redeploys, lists, shows logs and deletes", { skip }, async () => {
  await wholeLife(javascript, "by-javascript")
})

test("the Python CLI deploys, redeploys, lists, shows logs and deletes", {
  skip: withoutPython || ofTheCli,
}, async () => {
  await wholeLife(pythonCli, "by-python")
})

/** The agent in Python, whose greeting proves that it has its secret. */
async function pythonProject(files: Readonly<Record<string, string>> = {}): Promise<Project> {
  const folder = temporaryFolder()
  await copyAgent("agent-python", folder)
  await writeFile(join(folder, ".env"), "MODEL_KEY=sk-only-a-secret\n")
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text)
  const secret = `import os\nassert os.environ["MODEL_KEY"] == "sk-only-a-secret"\n`
  const greets = (version: string) => {
    const [[path = "", text] = []] = Object.entries(versionFile(version, "Python"))
    return { [path]: `${secret}${text}` }
  }
  return { folder, greets }
}

test("the Python CLI deploys a project of both languages", { skip: withoutPython }, async () => {
  const project = await pythonProject()
  for (const name of ["package.json", "package-lock.json"]) await cp(join(folder, name), join(project.folder, name))
  // The CLI reserves the name `src` where there is a requirements.txt.
  await copyAgent("agent/src", join(project.folder, "scripts"))
  const path = join(project.folder, "langgraph.json")
  const config = JSON.parse(await readFile(path, "utf8"))
  config.graphs.ticks = "./scripts/ticks.ts:graph"
  await writeFile(path, JSON.stringify({ ...config, node_version: "20" }))

  await wholeLife(pythonCli, "by-both", project)
})

interface Listed {
  readonly id: string
  readonly name: string
  readonly source_config: { readonly deployment_type: string }
}

const deployments = async (query: string): Promise<readonly Listed[]> => {
  const { body } = await platform.api<{ resources: readonly Listed[] }>("GET", `/v2/deployments?${query}`)
  return body.resources
}

test("the Python CLI finds its deployments among more than a page, by name, by type and by agent", {
  skip: withoutPython || ofTheCli,
}, async () => {
  const source = { source: "internal_source", source_config: {}, source_revision_config: {} }
  for (let n = 0; n < 101; n++) {
    const { status } = await platform.api("POST", "/v2/deployments", { name: `other-${n}`, ...source })
    assert.equal(status, 201)
  }
  const agent = ["--agent-id", "Agent of Sales", "--agent-environment", "staging"]
  const ways = [
    ["--name", "plain"],
    ["--name", "dedicated", "--deployment-type", "dedicated"],
    agent,
    ["--name", "plain"],
    agent,
  ]

  for (const way of ways) await run(pythonCli, ...way, "--remote", "--no-input")
  const listed = await run(pythonCli, "list")
  const ofAgent = await deployments("agent_id=Agent+of+Sales&agent_environment=staging")
  const typeOf = async (name: string) =>
    (await deployments(`name=${name}`)).map((it) => it.source_config.deployment_type)

  assert.deepEqual([await typeOf("plain"), await typeOf("dedicated")], [["dev_zero"], ["prod"]])
  assert.equal(ofAgent.length, 1)
  const [{ id = "", name = "" } = {}] = ofAgent
  for (const shown of ["other-0", "other-100", "plain", "dedicated", name]) assert.ok(listed.includes(shown), shown)
  assert.match(await run(pythonCli, "revisions", "list", id), /DEPLOYED[\s\S]*REPLACED/)
  assert.match(await follow(pythonCli, id), /server ready/)
  await run(pythonCli, "delete", id, "--force")
})

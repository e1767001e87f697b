/** What the vendor's deploy CLIs print when something is refused or fails, and their smaller commands. */
import assert from "node:assert/strict"
import { chmod, cp, mkdir, readFile, writeFile } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import {
  type Cli,
  type CliOptions,
  javascript,
  pythonCli,
  runCli,
  tryCli,
  withoutPython,
  withoutRegistries,
} from "../testing/official-cli.js"
import { type LocalPlatform, startLocalPlatform } from "../testing/platform.js"

const agentFolder = fileURLToPath(new URL("../../agent", import.meta.url))
const unknownId = "00000000-0000-4000-8000-000000000000"

let platform: LocalPlatform
const cwd = temporaryFolder()
before(async () => {
  if (withoutRegistries) return
  platform = await startLocalPlatform()
  await cp(agentFolder, cwd, { recursive: true, filter: (path) => !path.includes("node_modules") })
})
after(() => platform?.[Symbol.asyncDispose]())

const options = (more: Partial<CliOptions> = {}): CliOptions => ({ platform, cwd, ...more })
const run = (cli: Cli, ...args: string[]): Promise<string> => runCli(cli, options(), ...args)
const attempt = (cli: Cli, ...args: string[]) => tryCli(cli, options(), args)

const idOf = async (name: string): Promise<string> => {
  const { body } = await platform.api<{ resources: { id: string }[] }>("GET", `/v2/deployments?name=${name}`)
  return body.resources[0]?.id ?? assert.fail(`there is no deployment ${name}`)
}

/** A folder with a `docker` that says yes to everything and keeps nothing. */
async function dockerThatDoesNothing(): Promise<string> {
  const folder = temporaryFolder()
  const program = join(folder, "docker")
  await writeFile(program, '#!/bin/sh\n[ "$1" = info ] && echo "{}"\nexit 0\n')
  await chmod(program, 0o755)
  return `${folder}${delimiter}${process.env.PATH}`
}

/** The project of the tests with a graph that is no TypeScript. */
async function brokenProject(): Promise<string> {
  const folder = join(temporaryFolder(), "broken")
  await mkdir(folder)
  await cp(cwd, folder, { recursive: true })
  const { graphs } = JSON.parse(await readFile(join(folder, "langgraph.json"), "utf8"))
  const file = join(folder, (Object.values(graphs)[0] as string).split(":")[0] ?? "")
  await writeFile(file, `${await readFile(file, "utf8")}\nexport const oops: = 1\n`)
  return folder
}

const skipMore = unlessLong("deploys once more")

test("the JavaScript CLI says why it is refused, and exits with 1", { skip: withoutRegistries }, async () => {
  const refused = [
    [await tryCli(javascript, options({ apiKey: "ssk_wrong" }), ["list"]), /status 401.*Invalid API key/],
    [await attempt(javascript, "revisions", "list", unknownId), new RegExp(`Deployment ID ${unknownId} not found`)],
    [await attempt(javascript, "revisions", "list", "nonsense"), /status 422.*deployment_id.*expected a UUID/],
    [await attempt(javascript, "delete", unknownId, "--force"), new RegExp(`Deployment ID ${unknownId} not found`)],
    [await attempt(javascript, "logs", "--name", "nobody"), /Deployment 'nobody' not found/],
    [await attempt(javascript, "--deployment-id", unknownId, "--remote", "--no-input"), /status 404/],
  ] as const

  for (const [{ code, printed }, words] of refused) {
    assert.equal(code, 1, printed)
    assert.match(printed, words)
  }
})

test("the JavaScript CLI shows why a build failed, by the project's own paths", {
  skip: withoutRegistries,
}, async () => {
  const project = options({ cwd: await brokenProject() })

  const { code, printed } = await tryCli(javascript, project, ["--name", "broken", "--remote", "--no-input"])
  const json = await tryCli(javascript, project, ["--name", "broken", "--remote", "--no-input", "--json"])

  assert.equal(code, 1, printed)
  assert.match(
    printed,
    /Last build log lines[\s\S]*does not load: [\s\S]*ERROR: Unexpected "="[\s\S]*Deployment failed/,
  )
  assert.match(printed, /View status: http\S+\/host\/deployments\//)
  assert.ok(!printed.includes(platform.home), printed)
  assert.equal(json.code, 1)
  assert.match(json.stdout.trim().split("\n").at(-1) ?? "", /"status": ?"failed"/)
  assert.match(await run(javascript, "revisions", "list", await idOf("broken")), /BUILD_FAILED[\s\S]*BUILD_FAILED/)
})

test("the JavaScript CLI with Docker is told to build remotely, and does so on request", {
  skip: withoutRegistries || skipMore,
}, async () => {
  const withDocker = options({ env: { PATH: await dockerThatDoesNothing() } })
  const docker = await tryCli(javascript, withDocker, ["--name", "docker", "--no-input"])

  const remote = await tryCli(javascript, withDocker, ["--name", "docker", "--no-input", "--remote", "--no-wait"])

  assert.equal(docker.code, 1, docker.printed)
  assert.match(docker.printed, /push-token failed with status 400.*no image registry: deploy with --remote/)
  assert.equal(remote.code, 0, remote.printed)
  assert.match(remote.printed, /Found existing deployment[\s\S]*Build triggered/)
})

test("the JavaScript CLI filters logs by level, text, time and revision", {
  skip: withoutRegistries || skipMore,
}, async () => {
  await run(javascript, "--name", "logs", "--remote", "--no-input")
  const id = await idOf("logs")
  const { body } = await platform.api<{ resources: { id: string }[] }>("GET", `/v2/deployments/${id}/revisions`)
  const revision = body.resources[0]?.id ?? ""
  const logs = (...args: string[]) => run(javascript, "logs", "--deployment-id", id, ...args)

  const ready = await logs("--query", "server ready", "--limit", "5")
  const ofRevision = await logs("--revision-id", revision)
  const build = await logs("--type", "build", "--revision-id", revision)
  const errors = await logs("--level", "error")
  const past = await logs("--start-time", "2026-01-01T00:00:00Z", "--end-time", "2026-01-02T00:00:00Z")

  assert.match(ready, /server ready/)
  assert.doesNotMatch(ready, /schema ready/)
  assert.match(ofRevision, /server ready/)
  assert.match(build, /build finished/)
  for (const printed of [errors, past]) assert.match(printed, /No log entries found/)
})

const skip = withoutPython

test("the Python CLI lists as JSON, by part of a name, and listeners", { skip }, async () => {
  await platform.api("POST", "/v2/deployments", { name: "listed", source: "internal_source", source_config: {} })

  const { stdout } = await attempt(pythonCli, "list", "--json", "--name-contains", "liste")
  const listeners = await run(pythonCli, "listeners", "list")
  const { stdout: listenersJson } = await attempt(pythonCli, "listeners", "list", "--json")

  assert.deepEqual(JSON.parse(stdout), [{ id: await idOf("listed"), name: "listed" }])
  assert.match(await run(pythonCli, "list", "--name-contains", "nothing-like-it"), /No deployments found/)
  assert.match(listeners, /No listeners found/)
  assert.deepEqual(JSON.parse(listenersJson), [])
})

test("the Python CLI with a key of the installation wants a workspace", { skip }, async () => {
  const key = options({ apiKey: platform.credentials.org_api_key })

  const asked = await tryCli(pythonCli, key, ["list"])
  const noInput = await tryCli(pythonCli, key, ["--name", "of-org", "--remote", "--no-input"])
  const env = { LANGSMITH_TENANT_ID: platform.credentials.tenant_id }
  const named = await tryCli(pythonCli, { ...key, env }, ["list"])

  assert.match(asked.printed, /requires a workspace ID/)
  assert.match(noInput.printed, /Set LANGSMITH_TENANT_ID/)
  assert.equal(named.code, 0, named.printed)
})

test("the Python CLI says that a deployment from git is not its own, and leaves it as it is", { skip }, async () => {
  const { body } = await platform.api<{ id: string }>("POST", "/v2/deployments", {
    name: "from-git",
    source: "github",
    source_config: { repo_url: "http://127.0.0.1:9/nothing.git" },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
  })

  const withDocker = options({ env: { PATH: await dockerThatDoesNothing() } })
  const { code, printed } = await tryCli(pythonCli, withDocker, ["--deployment-id", body.id, "--no-input"])

  assert.equal(code, 1)
  assert.match(printed, /was not created by 'langgraph deploy' and cannot be updated with this command/)
})

test("the Python CLI's ready-made image fails on a machine of processes, with a reason in the build log", {
  skip,
}, async () => {
  const image = `registry.test/agent@sha256:${"0".repeat(64)}`

  const { code, printed } = await attempt(pythonCli, "--name", "image", "--no-input", "--image-uri", image)

  assert.equal(code, 1, printed)
  assert.match(printed, /Deployment failed/)
  assert.match(
    await run(pythonCli, "logs", "--name", "image", "--type", "build"),
    /runs no images that somebody else built: deploy source code, or start it with superstep up --machine docker/,
  )
})

test("the Python CLI finds the platform by LANGSMITH_ENDPOINT, and deletes only what is confirmed", {
  skip,
}, async () => {
  await platform.api("POST", "/v2/deployments", { name: "kept", source: "internal_source", source_config: {} })
  const id = await idOf("kept")

  const env = { LANGSMITH_ENDPOINT: platform.credentials.url, LANGSMITH_API_KEY: platform.credentials.api_key }
  const listed = await tryCli(pythonCli, options({ env }), ["list"])
  const unconfirmed = await attempt(pythonCli, "delete", id)
  const confirmed = await attempt(pythonCli, "delete", id, "--force")

  assert.ok(listed.printed.includes(id), listed.printed)
  assert.equal(unconfirmed.code, 1, unconfirmed.printed)
  assert.match(unconfirmed.printed, /Are you sure[\s\S]*Aborted/)
  assert.equal(confirmed.code, 0, confirmed.printed)
})

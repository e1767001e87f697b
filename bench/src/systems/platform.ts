/** A whole installation: `superstep up` with a home and ports of its own, and deployments of one small repository. */
import { once } from "node:events"
import { cp, mkdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { until } from "@superstep/toolkit/testing/until"
import { BenchFailed } from "../http-client.js"
import { pathTo } from "../paths.js"
import { type Cleanup, lastLines, startProgram } from "../processes.js"

export interface Platform {
  readonly home: string
  /** Creates a deployment. @returns  its id */
  deploy(name: string): Promise<string>
  /** Waits until its first revision serves. @throws BenchFailed  when it does not */
  untilDeployed(deploymentId: string): Promise<void>
}

interface Credentials {
  readonly url: string
  readonly tenant_id: string
  readonly api_key: string
}

// A build installs packages, and twenty deployments start one after the other.
const deployMs = 900_000
// The control plane ends its agents in order.
const stopMs = 120_000

export async function startPlatform(folder: string, cleanup: Cleanup): Promise<Platform> {
  const home = join(folder, "home")
  await mkdir(home)
  const repository = await createRepository(folder)
  const [port, agentsPort] = [await freePort(), await freePort()]
  const options = ["--home", home, "--port", `${port}`, "--agents-port", `${agentsPort}`, "--no-example"]
  const logFile = join(folder, "up.log")
  const argv = [process.execPath, pathTo("../cli/dist/main.js"), "up", ...options] as const
  const child = startProgram(
    { argv, env: {}, logFile, cwd: home, stop: { signal: "SIGINT", graceMs: stopMs } },
    cleanup,
  )
  const ended = once(child, "exit").then(() => Promise.reject(new BenchFailed(`superstep up: ${lastLines(logFile)}`)))
  ended.catch(() => undefined)
  const isUp = () => findCredentials(home)
  const credentials = await Promise.race([ended, until(isUp, { what: "superstep up answers", timeoutMs: 120_000 })])
  return {
    home,
    deploy: async (name) => (await api<{ id: string }>(credentials, "POST", "", requestOf(name, repository))).id,
    untilDeployed: (id) => untilDeployed(credentials, id),
  }
}

async function findCredentials(home: string): Promise<Credentials | undefined> {
  const text = await readFile(join(home, "credentials.json"), "utf8").catch(() => undefined)
  if (text === undefined) return undefined
  const credentials = JSON.parse(text) as Credentials
  const health = await fetch(`${credentials.url}/health`).catch(() => undefined)
  return health?.ok ? credentials : undefined
}

async function untilDeployed(credentials: Credentials, id: string): Promise<void> {
  const ended = async () => {
    const { resources } = await api<{ resources: { status: string }[] }>(credentials, "GET", `/${id}/revisions`)
    const status = resources[0]?.status ?? ""
    return /DEPLOYED|FAILED|SKIPPED|INTERRUPTED/.test(status) && status
  }
  const status = await until(ended, { what: "the revision has ended", timeoutMs: deployMs })
  if (status !== "DEPLOYED") throw new BenchFailed(`a deployment ended in ${status}`)
}

async function api<T>(
  { url, tenant_id, api_key }: Credentials,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  const response = await fetch(`${url}/v2/deployments${path}`, {
    method,
    headers: { "content-type": "application/json", "x-api-key": api_key, "x-tenant-id": tenant_id },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new BenchFailed(`${method} ${path} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as T
}

const requestOf = (name: string, repository: string) => ({
  name,
  source: "github",
  source_config: {
    integration_id: null,
    repo_url: repository,
    deployment_type: "dev",
    build_on_push: false,
    custom_url: null,
    resource_spec: null,
  },
  source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json", image_uri: null },
  secrets: [],
})

/** The end-to-end tests' agent in a git repository. @returns  its address */
async function createRepository(folder: string): Promise<string> {
  const tree = join(folder, "agent")
  await cp(pathTo("../tests/agent"), tree, { recursive: true, filter: (path) => !path.includes("node_modules") })
  const identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.invalid"]
  const env = { PATH: process.env.PATH ?? "", GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" }
  const git = (...args: string[]) =>
    runCommand({ argv: ["git", ...identity, ...args], cwd: tree, env, timeoutMs: 60_000 })
  await git("init", "--quiet", "--initial-branch=main")
  await git("add", "--all")
  await git("commit", "--quiet", "--message", "an agent")
  return `file://${tree}`
}

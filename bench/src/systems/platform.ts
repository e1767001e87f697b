/** A complete installation: `superstep up` with its own home folder and ports, and deployments of one repository. */
import { once } from "node:events"
import { mkdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { until } from "@superstep/toolkit/testing/until"
import { BenchFailed, callJson, type Target } from "../http-client.js"
import { pathTo } from "../paths.js"
import { type Cleanup, lastLines, startProgram } from "../processes.js"

export interface Platform {
  readonly home: string
  /** The control plane's API, with the first workspace's key. */
  readonly api: Target
  /** The public address of a deployment. */
  agent(name: string): Target
  /** Creates a deployment. @returns  its id */
  deploy(name: string, options?: DeployOptions): Promise<string>
  /**
   * Waits until a revision is deployed, by default the first one.
   * @throws BenchFailed  when it ends with another status
   */
  untilDeployed(deploymentId: string, revisionId?: string): Promise<RevisionTimes>
}

export interface DeployOptions {
  readonly buildOnPush?: boolean
  /** Whether it falls asleep when it is not used. */
  readonly maySleep?: boolean
}

export interface PlatformSource {
  /** URL of a git repository with the branch `main`. */
  readonly repository: string
  /** Additional settings of the control plane. */
  readonly settings?: Readonly<Record<string, string>>
}

/** The times in the API's representation of a revision. */
export interface RevisionTimes {
  readonly id: string
  readonly status: string
  readonly duration_ms_by_stage: Readonly<Record<string, number>>
}

interface Credentials {
  readonly url: string
  readonly tenant_id: string
  readonly api_key: string
}

// Long, because a build installs packages, and twenty deployments start one after another.
const deployMs = 900_000
// Long, because the control plane stops its agents one after another.
const stopMs = 120_000

export async function startPlatform(
  folder: string,
  { repository, settings = {} }: PlatformSource,
  cleanup: Cleanup,
): Promise<Platform> {
  const home = join(folder, "home")
  await mkdir(home)
  const [port, agentsPort] = [await freePort(), await freePort()]
  const options = ["--home", home, "--port", `${port}`, "--agents-port", `${agentsPort}`, "--no-example"]
  const logFile = join(folder, "up.log")
  const argv = [process.execPath, pathTo("../cli/programs/main.js"), "up", ...options] as const
  const child = startProgram(
    { argv, env: settings, logFile, cwd: home, stop: { signal: "SIGINT", graceMs: stopMs } },
    cleanup,
  )
  const ended = once(child, "exit").then(() => Promise.reject(new BenchFailed(`superstep up: ${lastLines(logFile)}`)))
  // It is awaited below. After that, the cleanup stops the process, so a rejection is expected.
  ended.catch(() => undefined)
  const isUp = () => findCredentials(home)
  const credentials = await Promise.race([ended, until(isUp, { what: "superstep up to respond", timeoutMs: 120_000 })])
  const headers = { "x-api-key": credentials.api_key, "x-tenant-id": credentials.tenant_id }
  const at = (port: number, prefix: string): Target => ({ address: { host: "127.0.0.1", port }, prefix, headers })
  const api = at(port, "")
  return {
    home,
    api,
    agent: (name) => at(agentsPort, `/d/${name}`),
    deploy: async (name, options = {}) => {
      const created = await callJson(api, "POST", "/v2/deployments", requestOf({ name, repository, ...options }))
      return (created as { id: string }).id
    },
    untilDeployed: (id, revisionId) => untilDeployed(api, id, revisionId),
  }
}

async function findCredentials(home: string): Promise<Credentials | undefined> {
  const text = await readFile(join(home, "credentials.json"), "utf8").catch(ifCode(["ENOENT"]))
  if (text === undefined) return undefined
  const credentials = JSON.parse(text) as Credentials
  // Not started yet: the caller polls.
  const health = await fetch(`${credentials.url}/health`).catch(() => undefined)
  return health?.ok ? credentials : undefined
}

async function untilDeployed(api: Target, id: string, revisionId: string | undefined): Promise<RevisionTimes> {
  const path = `/v2/deployments/${id}/revisions`
  const look = async () =>
    revisionId === undefined
      ? ((await callJson(api, "GET", path)) as { resources: RevisionTimes[] }).resources[0]
      : ((await callJson(api, "GET", `${path}/${revisionId}`)) as RevisionTimes)
  const ended = async () => {
    const revision = await look()
    return revision && /DEPLOYED|FAILED|SKIPPED|INTERRUPTED/.test(revision.status) && revision
  }
  const revision = await until(ended, { what: "the revision to be deployed or to fail", timeoutMs: deployMs })
  if (revision.status !== "DEPLOYED") throw new BenchFailed(`a revision ended in ${revision.status}`)
  return revision
}

const requestOf = ({
  name,
  repository,
  buildOnPush = false,
  maySleep = false,
}: DeployOptions & { readonly name: string; readonly repository: string }) => ({
  name,
  source: "github",
  source_config: {
    integration_id: null,
    repo_url: repository,
    deployment_type: maySleep ? "dev_free" : "dev",
    build_on_push: buildOnPush,
    custom_url: null,
    resource_spec: null,
  },
  source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json", image_uri: null },
  secrets: [],
})

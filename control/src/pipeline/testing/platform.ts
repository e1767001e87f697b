/** A whole platform for tests: control plane and edge as real processes on a database of their own. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { appendFileSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Database } from "@superstep/toolkit/db/database"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { keepLockOrder } from "../../testing/lock-order.js"
import { ensureDefaultWorkspace } from "../../workspaces/operations.js"

export interface Platform extends AsyncDisposable {
  readonly db: Database
  readonly home: string
  /** Its folder for temporary files. */
  readonly temporary: string
  /** The address of the control plane's API. */
  readonly apiUrl: string
  readonly agentsUrl: string
  readonly apiKey: string
  /** Starts the control plane; `env` adds to its settings. Resolves when it answers or has died. */
  start(env?: Record<string, string>): Promise<ChildProcess>
  /** Kills it, as a power failure would. */
  kill(): Promise<void>
  /** Waits until it has died without our doing. */
  untilDead(): Promise<void>
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>
  /** Sends the request as `call` does, and returns the raw response. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Creates a deployment. @returns  its id and its revision's */
  deploy(body: Record<string, unknown>): Promise<{ deploymentId: string; revisionId: string }>
  /** The lines of a revision's build. */
  buildLog(deploymentId: string, revisionId: string): Promise<string>
  /** Waits until a revision has ended, in whatever state. */
  untilEnded(deploymentId: string, revisionId: string, timeoutMs?: number): Promise<Json>
}

// The tests' assertions check the API's replies.
// biome-ignore lint/suspicious/noExplicitAny: replies of every shape go through here
export type Json = any

const mainFile = fileURLToPath(import.meta.resolve("@superstep/control/pipeline/testing/main"))
const finalStatuses = ["DEPLOYED", "SKIPPED", "INTERRUPTED", "CREATE_FAILED", "BUILD_FAILED", "DEPLOY_FAILED"]

/**
 * @param db    its database, dropped when the platform closes; default a new one on the Postgres that all tests share
 * @param home  a folder that is created
 * @param program  the control plane's, with settings of its own
 */
export async function testPlatform(
  given: { db?: Database; home?: string; program?: { file: string; env: Record<string, string> } } = {},
): Promise<Platform> {
  const db = given.db ?? (await freshDatabase())
  const home = given.home ?? join(temporaryFolder(), "home")
  const { program = { file: mainFile, env: {} } } = given
  const temporary = temporaryFolder()
  const logFile = join(temporaryFolder(), "control.log")
  const [port, agentsPort] = [await freePort(), await freePort()]
  const base = `http://127.0.0.1:${port}`
  let child: ChildProcess | undefined
  let apiKey = ""

  const start = async (env: Record<string, string> = {}) => {
    const settings = {
      SUPERSTEP_HOME: home,
      TMPDIR: temporary,
      SUPERSTEP_PORT: String(port),
      SUPERSTEP_AGENTS_PORT: String(agentsPort),
      SUPERSTEP_WATCH: "0",
      SUPERSTEP_FETCH_NODE: "0",
      // Enough for the tests' units, and each worker is a process that loads LangGraph.
      SUPERSTEP_WORKERS: "1",
      DATABASE_URI: db.uri,
      LOG_LEVEL: "debug",
    }
    const spawned = spawn(process.execPath, ["--enable-source-maps", program.file], {
      env: { PATH: process.env.PATH ?? "", ...settings, ...program.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    })
    let output = ""
    for (const stream of [spawned.stdout, spawned.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString()
        appendFileSync(logFile, chunk)
      })
    }
    await until(
      () => output.includes("control plane listens") || spawned.exitCode !== null || spawned.signalCode !== null,
      // One that stands by does not listen before the one in charge is gone.
      { what: "the control plane listens", timeoutMs: 300_000 },
    ).catch((error: unknown) => {
      spawned.kill("SIGKILL")
      throw error
    })
    if (spawned.exitCode !== null) throw new Error(`the control plane did not start: ${output}`)
    child = spawned
    if (!given.program) await keepLockOrder(db)
    if (apiKey === "") apiKey = (await ensureDefaultWorkspace(db))?.api_key ?? ""
    return spawned
  }

  const untilDead = async () => {
    if (child && child.exitCode === null && child.signalCode === null) await once(child, "exit")
  }
  const kill = async () => {
    child?.kill("SIGKILL")
    await untilDead()
  }
  const call: Platform["call"] = async (method, path, body) => {
    const reply = await fetch(`${base}${path}`, {
      method,
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === "" ? undefined : JSON.parse(text) }
  }
  const ask: Platform["fetch"] = (path, init = {}) =>
    fetch(`${base}${path}`, { ...init, headers: { "x-api-key": apiKey, ...(init.headers as Record<string, string>) } })
  const deploy: Platform["deploy"] = async (body) => {
    const { status, body: created } = await call("POST", "/v2/deployments", body)
    if (status !== 201) throw new Error(`${status} ${JSON.stringify(created)}`)
    return { deploymentId: created.id, revisionId: created.latest_revision_id }
  }
  const buildLog: Platform["buildLog"] = async (deploymentId, revisionId) => {
    const path = `/v1/projects/${deploymentId}/revisions/${revisionId}/build_logs`
    const { body } = await call("POST", path, { order: "asc", limit: 100 })
    return body.logs.map((line: { message: string }) => line.message).join("\n")
  }
  const untilEnded: Platform["untilEnded"] = async (deploymentId, revisionId, timeoutMs = 90_000) => {
    try {
      return await until(
        async () => {
          const { body } = await call("GET", `/v2/deployments/${deploymentId}/revisions/${revisionId}`)
          return finalStatuses.includes(body.status) && body
        },
        { what: "the revision has ended", timeoutMs },
      )
    } catch (cause) {
      throw new Error(readFileSync(logFile, "utf8").slice(-4000), { cause })
    }
  }
  const dispose = async () => {
    await kill()
    // A last control plane stops whatever a killed one left running.
    const last = await start({ SUPERSTEP_STOP_ALL_ON_EXIT: "1", SUPERSTEP_STOP_GRACE: "1", SUPERSTEP_CRASH_AT: "" })
    last.kill("SIGTERM")
    await untilDead()
    if (last.exitCode !== 0) throw new Error(readFileSync(logFile, "utf8").slice(-4000))
    await db.close()
  }
  return {
    db,
    home,
    temporary,
    apiUrl: base,
    agentsUrl: `http://127.0.0.1:${agentsPort}`,
    get apiKey() {
      return apiKey
    },
    start,
    kill,
    untilDead,
    call,
    fetch: ask,
    deploy,
    buildLog,
    untilEnded,
    [Symbol.asyncDispose]: dispose,
  }
}

/** The body of a request that deploys a repository. */
export const deploymentOf = (
  repoUrl: string,
  change: { name?: string; ref?: string; config?: Record<string, unknown>; secrets?: Record<string, string> } = {},
): Record<string, unknown> => ({
  name: change.name ?? "chat",
  source: "github",
  source_config: {
    integration_id: null,
    repo_url: repoUrl,
    deployment_type: "dev",
    build_on_push: false,
    ...change.config,
  },
  source_revision_config: { repo_ref: change.ref ?? "main", langgraph_config_path: "langgraph.json" },
  secrets: Object.entries(change.secrets ?? {}).map(([name, value]) => ({ name, value })),
})

/** A project that builds without a network. */
export const smallProject = {
  "langgraph.json": JSON.stringify({ graphs: { chat: "./chat.mjs:graph" }, node_version: "20" }),
  "chat.mjs": "export const graph = { invoke: () => 'hello' }\n",
}

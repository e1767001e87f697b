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
import { ensureDefaultWorkspace } from "../../workspaces/operations.js"

export interface Platform extends AsyncDisposable {
  readonly db: Database
  readonly home: string
  /** For its temporary files. */
  readonly temporary: string
  /** Of the control plane. */
  readonly apiUrl: string
  readonly agentsUrl: string
  readonly apiKey: string
  /** Starts the control plane; `env` adds to its settings. Returns when it answers, unless it dies before. */
  start(env?: Record<string, string>): Promise<ChildProcess>
  /** Ends it as a power failure would. */
  kill(): Promise<void>
  /** Waits until it has died by itself. */
  untilDead(): Promise<void>
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>
  /** Asks the API as `call` does, and gives the reply as it comes. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Creates a deployment. @returns its id and its revision's */
  deploy(body: Record<string, unknown>): Promise<{ deploymentId: string; revisionId: string }>
  /** Waits until a revision has ended in whatever way. */
  untilEnded(deploymentId: string, revisionId: string, timeoutMs?: number): Promise<Json>
}

// What the API answers is checked by what the tests ask of it.
// biome-ignore lint/suspicious/noExplicitAny: replies of every shape go through here
export type Json = any

const mainFile = fileURLToPath(new URL("main.js", import.meta.url))
const finalStatuses = ["DEPLOYED", "SKIPPED", "INTERRUPTED", "CREATE_FAILED", "BUILD_FAILED", "DEPLOY_FAILED"]

/**
 * @param db    its database, which is dropped when it closes; one on the Postgres that all tests share unless told
 * @param home  a folder that is made
 */
export async function testPlatform(given: { db?: Database; home?: string } = {}): Promise<Platform> {
  const db = given.db ?? (await freshDatabase())
  const home = given.home ?? join(temporaryFolder(), "home")
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
      // Enough for what the tests ask of a unit, and each of them starts a process that loads LangGraph.
      SUPERSTEP_WORKERS: "1",
      DATABASE_URI: db.uri,
      LOG_LEVEL: "debug",
    }
    const spawned = spawn(process.execPath, ["--enable-source-maps", mainFile], {
      env: { PATH: process.env.PATH ?? "", ...settings, ...env },
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
      {
        what: "the control plane listens",
      },
    ).catch((error: unknown) => {
      spawned.kill("SIGKILL")
      throw error
    })
    if (spawned.exitCode !== null) throw new Error(`the control plane did not start: ${output}`)
    child = spawned
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
    // Whatever a killed control plane left running is ended by a last one, in order.
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

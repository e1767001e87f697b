/** Agent servers as processes of their own, as `superstep serve` runs them, on a database of the test's choice. */
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { closeSync, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { after, before } from "node:test"
import { fileURLToPath } from "node:url"
import { Client } from "@langchain/langgraph-sdk"
import type { Status } from "@superstep/protocol/unit/replies"
import type { Database } from "@superstep/toolkit/db/database"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"

export interface AgentServerProcess extends AsyncDisposable {
  readonly pid: number
  readonly url: string
  readonly logFile: string
  /** What every request must carry. */
  readonly headers: Readonly<Record<string, string>>
  /** The official client; it tries nothing twice, so that a test sees every failure. */
  readonly client: Client
  /** What its process prints, so far. */
  log(): string
  /** Asks it to stop, as a supervisor does, and does not wait. */
  terminate(): void
  /** Ends it without a word. */
  kill(): Promise<void>
  /** Resolves with its exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>
  /** GET of what only its supervisor may ask. */
  status(): Promise<Pick<Status, "ready" | "running_runs" | "open_streams" | "model_use">>
}

export interface AgentServerSetup {
  readonly databaseUri: string
  /** Over the settings that every test server has. */
  readonly env?: Readonly<Record<string, string>>
  /** False: everybody may send it requests, as with `superstep dev`; for pages, which send no headers with a WebSocket. */
  readonly hasUnitToken?: boolean
  /** For Node, before the program. */
  readonly nodeArguments?: readonly string[]
}

const main = fileURLToPath(import.meta.resolve("@superstep/server/main"))
const migrations = fileURLToPath(new URL("../../../server/src/migrations", import.meta.url))

/** A database of its own for an agent server. The server would migrate an empty one, which takes a fifth of a second of processor time. */
export const agentDatabase = (): Promise<Database> => freshDatabase({ migrations })

const config = fileURLToPath(new URL("../../soak-graphs/langgraph.json", import.meta.url))
const passedOn = ["PATH", "HOME", "TMPDIR", "LANG", "TZ"]

/** Starts a server with the graphs of `soak-graphs` and waits until it is ready. */
export async function startAgentServer(setup: AgentServerSetup): Promise<AgentServerProcess> {
  const logFile = join(temporaryFolder(), "server.log")
  const token = randomUUID()
  const child = launch(setup, token, logFile)
  const exited = once(child, "exit").then(([code]) => code as number | null)
  const log = () => readFileSync(logFile, "utf8")
  const port = await until(
    () => {
      if (child.exitCode !== null) throw new Error(`the server ended: ${log().slice(-2000)}`)
      return Number(/"port":(\d+)[^\n]*"server ready"/.exec(log())?.[1])
    },
    { what: "the server is ready", timeoutMs: 180_000 },
  )
  const url = `http://127.0.0.1:${port}`
  const headers = { "x-superstep-unit": token }
  const client = new Client({ apiUrl: url, defaultHeaders: headers, callerOptions: { maxRetries: 0 } })
  const status = async () => {
    const reply = await fetch(`${url}/internal/status`, { headers })
    return (await reply.json()) as Awaited<ReturnType<AgentServerProcess["status"]>>
  }
  const kill = async () => {
    child.kill("SIGKILL")
    await exited
  }
  const stop = async () => {
    child.kill("SIGTERM")
    const impatience = setTimeout(() => child.kill("SIGKILL"), 10_000)
    await exited
    clearTimeout(impatience)
  }
  return {
    pid: child.pid ?? 0,
    url,
    logFile,
    headers,
    client,
    log,
    terminate: () => void child.kill("SIGTERM"),
    kill,
    exited,
    status,
    [Symbol.asyncDispose]: stop,
  }
}

/** A server with a database of its own. */
export interface ServerWithDatabase extends AgentServerProcess {
  readonly db: Database
}

type SetupWithDatabase = Omit<AgentServerSetup, "databaseUri">

/** As `startAgentServer`, on a database of its own, which ends with the server. */
export async function startServerWithDatabase(setup: SetupWithDatabase = {}): Promise<ServerWithDatabase> {
  const db = await agentDatabase()
  const server = await startAgentServer({ ...setup, databaseUri: db.uri }).catch(async (error: unknown) => {
    await db.close()
    throw error
  })
  const stop = async () => {
    await server[Symbol.asyncDispose]()
    await db.close()
  }
  return { ...server, db, [Symbol.asyncDispose]: stop }
}

/** One server for all tests of a file or of a `describe`. @returns  what it is, from before the first test until after the last one */
export function serverForAll(setup?: SetupWithDatabase): ServerWithDatabase {
  const server = {} as ServerWithDatabase
  before(async () => void Object.assign(server, await startServerWithDatabase(setup)))
  after(() => server[Symbol.asyncDispose]?.())
  return server
}

function launch(
  { databaseUri, env, hasUnitToken = true, nodeArguments = [] }: AgentServerSetup,
  token: string,
  logFile: string,
): ChildProcess {
  const output = openSync(logFile, "a")
  const child = spawn(process.execPath, [...nodeArguments, main], {
    stdio: ["ignore", output, output],
    env: {
      ...Object.fromEntries(passedOn.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
      SUPERSTEP_CONFIG: config,
      DATABASE_URI: databaseUri,
      SUPERSTEP_LISTEN: "127.0.0.1:0",
      ...(hasUnitToken && { SUPERSTEP_UNIT_TOKEN: token }),
      // Enough for what most tests ask, and each of them starts a process that loads LangGraph.
      SUPERSTEP_WORKERS: "1",
      // A test that fails half way must not wait for its runs.
      BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "0",
      ...env,
    },
  })
  closeSync(output)
  // A test process that fails takes its servers along.
  const takeAlong = () => child.kill("SIGKILL")
  process.once("exit", takeAlong)
  child.once("exit", () => process.off("exit", takeAlong))
  return child
}

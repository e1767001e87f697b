/**
 * The systems that are measured, each behind the same HTTP API. The floor and the agent server answer on Unix sockets,
 * as the server does behind the edge; the edge answers on TCP, as it does for the world.
 */
import { createHash, randomBytes } from "node:crypto"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { edgeProcess, pushTable } from "@superstep/control/edge/client"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { createLog } from "@superstep/toolkit/log/log"
import { startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { until } from "@superstep/toolkit/testing/until"
import { BenchFailed, callJson, type Target } from "./http-client.js"
import { type Cleanup, lastLines, type Program, startProgram } from "./processes.js"

export interface System {
  readonly name: string
  readonly target: Target
}

interface Place {
  /** A folder of this benchmark, gone afterwards. */
  readonly folder: string
  readonly cleanup: Cleanup
}

const pathTo = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))
const onSocket = (socketPath: string): Target => ({ address: { socketPath }, prefix: "", headers: {} })

export async function startFloor({ folder, cleanup }: Place): Promise<System> {
  const socketPath = join(folder, "floor.sock")
  const system = { name: "floor", target: onSocket(socketPath) }
  const argv = [process.execPath, pathTo("floor.js"), socketPath] as const
  await start(system, { argv: [...argv], env: {}, logFile: join(folder, "floor.log") }, cleanup)
  return system
}

/** An agent server as `superstep serve` runs it, on a Postgres of its own. */
export async function startServer({ folder, cleanup }: Place): Promise<System> {
  const socketPath = join(folder, "server.sock")
  const system = { name: "server", target: onSocket(socketPath) }
  const env = {
    SUPERSTEP_CONFIG: pathTo("../graphs/langgraph.json"),
    DATABASE_URI: await startDatabase(folder, cleanup),
    SUPERSTEP_LISTEN: `unix:${socketPath}`,
    LOG_LEVEL: "warn",
  }
  const argv = [process.execPath, pathTo("../../server/dist/main.js")] as const
  await start(system, { argv: [...argv], env, logFile: join(folder, "server.log") }, cleanup)
  return system
}

async function startDatabase(folder: string, cleanup: Cleanup): Promise<string> {
  const log = createLog({ process: "bench", level: "warn" })
  const postgres = await startPostgres({ folder: join(folder, "postgres"), log, stopWithParent: true })
  cleanup.add(() => postgres.stop())
  return createDatabase({ adminUri: postgres.superuserUri, name: "bench" })
}

/** The edge before a system that answers on a Unix socket. */
export async function startEdge({ folder, cleanup }: Place, behind: System): Promise<System> {
  if (!("socketPath" in behind.target.address)) throw new TypeError("the edge speaks to Unix sockets only")
  const key = randomBytes(16).toString("hex")
  const adminSocket = join(folder, "admin.sock")
  const logFile = join(folder, "edge.log")
  const spec = { host: "127.0.0.1", port: 0, adminSocket, tablePath: join(folder, "routes.json"), graceSeconds: 0 }
  startProgram({ ...edgeProcess(spec), logFile }, cleanup)
  const { port } = await until(() => findLogLine(logFile, "edge listens"), { what: "the edge listens" })
  await pushTable(adminSocket, {
    generation: 1,
    routes: [
      {
        name: "bench",
        deployment_id: "bench",
        revision_id: "bench",
        keys: [createHash("sha256").update(key).digest("hex")],
        units: [{ unit_id: "bench", socket_path: behind.target.address.socketPath, token: "none" }],
      },
    ],
  })
  const target = { address: { host: "127.0.0.1", port }, prefix: "/d/bench", headers: { "x-api-key": key } }
  return { name: `edge → ${behind.name}`, target }
}

function findLogLine(logFile: string, message: string): { port: number } | undefined {
  const line = lastLines(logFile)
    .split("\n")
    .find((text) => text.includes(`"${message}"`))
  return line === undefined ? undefined : (JSON.parse(line) as { port: number })
}

/** @throws BenchFailed  with the program's last words when it ends, or never answers */
async function start(system: System, program: Program, cleanup: Cleanup): Promise<void> {
  const child = startProgram(program, cleanup)
  const isReady = async () => {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new BenchFailed(`${system.name} ended: ${lastLines(program.logFile)}`)
    }
    // A server answers before its graphs are loaded; threads it makes only then.
    return callJson(system.target, "POST", "/threads", {}).catch(() => undefined)
  }
  await until(isReady, { what: `${system.name} is ready`, timeoutMs: 60_000 })
}

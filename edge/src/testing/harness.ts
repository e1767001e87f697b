/** A real edge in a process of its own, and real units: HTTP servers on Unix sockets. */

import { type ChildProcess, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request,
  type Server,
} from "node:http"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
import { isDeepStrictEqual } from "node:util"
import { type Address, unixAddress, unixPathOf } from "@superstep/protocol/http/address"
import { Secret } from "@superstep/toolkit/config/settings"
import { bindTcpSocket } from "@superstep/toolkit/http/bound-socket"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { type Answer, listenerOf } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { type EdgeAdmin, edgeProcess, edgeStatus, pushTable } from "../client.js"
import type { Route, Table, Unit } from "../table.js"

export const key = "lsv2_test_key"
/** A key that may only read. */
export const readKey = "lsv2_read_key"
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

export const route = (name: string, units: readonly Unit[], change: Partial<Route> = {}): Route => ({
  name,
  deployment_id: `deployment-of-${name}`,
  revision_id: "revision-1",
  keys: [sha256(key)],
  read_keys: [sha256(readKey)],
  state: "serving",
  units: [...units],
  standby: [],
  ...change,
})

export interface RunningEdge extends AsyncDisposable {
  readonly port: number
  /** Of plain HTTP, with `SUPERSTEP_EDGE_PLAIN`. */
  readonly plainPort: number
  readonly url: string
  readonly admin: EdgeAdmin
  readonly tablePath: string
  readonly wakeAddress: Address
  readonly process: ChildProcess
  take(table: Table): Promise<void>
  /** Returns whether a log line has this message. */
  hasLogged(message: string): boolean
  /** Sends a signal and waits for the exit. @returns  the exit code, or null when the signal ended it */
  end(signal: NodeJS.Signals): Promise<number | null>
}

export const token = new Secret("the token of all edges in tests, long enough")

export const edgeFiles = (folder: string) => ({
  adminAddress: unixAddress(join(folder, "admin.sock")),
  successorFile: join(folder, "successor.json"),
  tablePath: join(folder, "routes.json"),
  wakeAddress: unixAddress(join(folder, "wake.sock")),
})

/** Starts an edge whose files are in `folder`, and waits until it listens. */
export async function startEdge(folder: string, env: Record<string, string> = {}): Promise<RunningEdge> {
  const files = edgeFiles(folder)
  const admin = { address: files.adminAddress, token }
  const spec = edgeProcess({ token, ...files })
  const [program, ...args] = spec.argv
  using socket = await bindTcpSocket({ host: "127.0.0.1", port: 0 })
  const plainPort = await freePort()
  using plain = await bindTcpSocket({ host: "127.0.0.1", port: plainPort })
  const stdio = ["ignore", "pipe", "inherit", socket.descriptor, plain.descriptor] as const
  const child: ChildProcess = spawn(program, args, { env: { ...spec.env, ...env }, stdio: [...stdio] })
  const exited = once(child, "exit") as Promise<[number | null]>
  const log = readLog(child)
  const port = await log.port
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    const [code] = await exited
    return code
  }
  return {
    ...files,
    admin,
    port,
    plainPort,
    url: `http://127.0.0.1:${port}`,
    process: child,
    take: async (table) => {
      await pushTable(admin, table)
    },
    hasLogged: (message) => log.lines.some(({ msg }) => msg === message),
    end,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await end("SIGKILL")
    },
  }
}

interface LogLine {
  readonly msg: string
  readonly port?: number
}

/** Keeps all log lines, and resolves `port` once the edge listens. */
function readLog({ stdout }: ChildProcess): { lines: LogLine[]; port: Promise<number> } {
  if (!stdout) throw new Error("the edge has no standard output")
  const input = createInterface({ input: stdout })
  const lines: LogLine[] = []
  const port = new Promise<number>((resolve, reject) => {
    input.on("line", (text) => {
      const line = JSON.parse(text) as LogLine
      lines.push(line)
      if (line.msg === "edge listens" && line.port) resolve(line.port)
    })
    input.once("close", () => reject(new Error("the edge ended before it listened")))
  })
  return { lines, port }
}

export interface RunningUnit extends AsyncDisposable {
  readonly unit: Unit
  readonly server: Server
  /** Cuts all connections and frees the path. */
  close(): Promise<void>
}

/** Starts a unit that answers on `<folder>/<id>.sock`. */
export async function startUnit(folder: string, id: string, answer: Answer): Promise<RunningUnit> {
  const unit: Unit = { unit_id: id, address: unixAddress(join(folder, `${id}.sock`)), token: `token-of-${id}` }
  const server = createServer({ maxHeaderSize: 128 * 1024 }, listenerOf(answer))
  server.listen(unixPathOf(unit.address))
  await once(server, "listening")
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, "close")
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { unit, server, close, [Symbol.asyncDispose]: close }
}

/** An edge with one route `chat` that is served by one unit. */
export async function edgeWithUnit(answer: Answer, env: Record<string, string> = {}) {
  const folder = temporaryFolder()
  const unit = await startUnit(folder, "u1", answer)
  const edge = await startEdge(folder, env)
  await edge.take({ generation: 1, routes: [route("chat", [unit.unit])] })
  const dispose = async () => {
    await edge[Symbol.asyncDispose]()
    await unit.close()
  }
  return { edge, unit, folder, chat: `${edge.url}/d/chat`, [Symbol.asyncDispose]: dispose }
}

export const withKey = { "x-api-key": key }

/** Waits until the edge has this open at the unit `u1` (each number that is named), or, without numbers, does not know it any more. */
export const untilOpen = ({ admin }: RunningEdge, open: Readonly<Record<string, number>> | undefined) =>
  until(
    async () => {
      const { u1 } = (await edgeStatus(admin)).units
      return open === undefined ? u1 === undefined : isDeepStrictEqual({ ...u1, ...open }, u1)
    },
    { what: `open at the unit: ${JSON.stringify(open)}` },
  )

/** A control plane that records what it is asked, once it hears. */
export function startControl(address: Address) {
  const calls: string[] = []
  const server = createServer(({ method, url }, response) => {
    calls.push(`${method} ${url}`)
    response.writeHead(204).end()
  })
  const hear = async () => void (await once(server.listen(unixPathOf(address)), "listening"))
  return { calls, hear, close: () => server.close() }
}

export interface Exchange {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A request on a connection of its own, for what `fetch` cannot send: another Host, a path as it is, a Unix socket. */
export async function exchange(options: RequestOptions): Promise<Exchange> {
  const [response] = (await once(request({ agent: false, ...options }).end(), "response")) as [IncomingMessage]
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

export interface Gate {
  readonly passed: Promise<void>
  open(): void
}

/** A promise that the caller fulfils with `open`. */
export function gate(): Gate {
  let open = (): void => undefined
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open }
}

/** The next piece of a body as text, or undefined at its end. */
export async function readNext(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> {
  const { value } = await reader.read()
  return value && Buffer.from(value).toString("utf8")
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

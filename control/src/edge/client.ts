/** The control plane's side of the edge: how to start one, how to give it a table, what is open on it. */
import { request as httpRequest } from "node:http"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { Conflict, Unavailable } from "@superstep/toolkit/errors/errors"
import type { TlsFiles } from "@superstep/toolkit/http/tls-files"
import type { LogLevel } from "@superstep/toolkit/log/log"
import type { z } from "zod"
import { type Successor, startedSchema, statusSchema, takenSchema } from "./admin.js"
import { settings } from "./config.js"
import { successorDescriptor } from "./succession.js"
import type { Table } from "./table.js"

export type EdgeStatus = z.infer<typeof statusSchema>

// An edge answers in milliseconds; after this it hangs.
const timeoutMs = 5000

/**
 * Gives the edge a table. When this returns, every new request uses it, also after a restart of the edge.
 * @throws Conflict     the edge has a newer generation: another control plane has taken over
 * @throws Unavailable  the edge does not answer; pushing the same table again is safe
 */
export async function pushTable(adminSocket: string, table: Table): Promise<{ generation: number }> {
  const { status, body } = await ask(adminSocket, "PUT", "/table", JSON.stringify(table))
  if (status === 409) throw new Conflict(detailOf(body), "stale_generation")
  if (status !== 200) throw new Error(`the edge refused table ${table.generation} with ${status}: ${body}`)
  return takenSchema.parse(JSON.parse(body))
}

/** @throws Unavailable  the edge does not answer */
export async function edgeStatus(adminSocket: string): Promise<EdgeStatus> {
  const { status, body } = await ask(adminSocket, "GET", "/status")
  if (status !== 200) throw new Error(`the edge answered ${status}: ${body}`)
  return statusSchema.parse(JSON.parse(body))
}

/**
 * Lets an edge start its successor, which answers on the admin socket and the table file of its own environment.
 * @returns  the successor's pid; undefined when the edge is of a release that knows no succession
 * @throws Unavailable  the edge does not answer
 */
export async function startSuccessor(
  adminSocket: string,
  { argv, env }: ReturnType<typeof edgeProcess>,
  place: { readonly cwd: string; readonly outputFile: string },
): Promise<number | undefined> {
  const listening = { ...env, [settings.listenDescriptor.env]: String(successorDescriptor) }
  const wanted: Successor = { argv, env: listening, cwd: place.cwd, output_file: place.outputFile }
  const { status, body } = await ask(adminSocket, "POST", "/successor", JSON.stringify(wanted))
  if (status === 404) return undefined
  if (status !== 201) throw new Error(`the edge refused to start its successor with ${status}: ${body}`)
  return startedSchema.parse(JSON.parse(body)).pid
}

/** Tells an edge that its successor has taken over. @throws Unavailable  it does not answer */
export async function retireEdge(adminSocket: string): Promise<void> {
  const { status, body } = await ask(adminSocket, "POST", "/retire")
  if (status !== 202) throw new Error(`the edge refused to retire with ${status}: ${body}`)
}

export interface EdgeSpec {
  readonly host: string
  /** 0 lets the system choose; the log line "edge listens" tells which. */
  readonly port: number
  /** Absolute, below 100 bytes. */
  readonly adminSocket: string
  /** Absolute. */
  readonly tablePath: string
  /** Absolute: certificate and key, when it is to answer HTTPS. */
  readonly tls?: TlsFiles | undefined
  /** Absolute: where the control plane hears who is to wake up. */
  readonly wakeSocket: string
  readonly logLevel?: LogLevel
  /** Addresses or networks of reverse proxies in front, by comma. */
  readonly trustedProxies?: string
  readonly graceSeconds?: number
  /** What its starter calls all of this; it tells it in its status. */
  readonly command?: string
}

/** How to start an edge: command and whole environment. */
export function edgeProcess(spec: EdgeSpec): { argv: [string, ...string[]]; env: Record<string, string> } {
  const host = spec.host.includes(":") ? `[${spec.host}]` : spec.host
  return {
    argv: [process.execPath, "--enable-source-maps", fileURLToPath(new URL("main.js", import.meta.url))],
    env: {
      [settings.listen.env]: `${host}:${spec.port}`,
      [settings.adminSocket.env]: spec.adminSocket,
      [settings.tablePath.env]: spec.tablePath,
      [settings.wakeSocket.env]: spec.wakeSocket,
      ...(spec.tls && { [settings.tlsCert.env]: spec.tls.certFile, [settings.tlsKey.env]: spec.tls.keyFile }),
      ...(spec.logLevel && { [settings.logLevel.env]: spec.logLevel }),
      ...(spec.trustedProxies && { [settings.trustedProxies.env]: spec.trustedProxies }),
      ...(spec.command !== undefined && { [settings.command.env]: spec.command }),
      ...(spec.graceSeconds !== undefined && { [settings.graceSeconds.env]: String(spec.graceSeconds) }),
    },
  }
}

async function ask(
  socketPath: string,
  method: string,
  path: string,
  body = "",
): Promise<{ status: number; body: string }> {
  const signal = AbortSignal.timeout(timeoutMs)
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
  try {
    return await new Promise((resolve, reject) => {
      const request = httpRequest({ socketPath, method, path, headers, signal, agent: false }, (response) => {
        text(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: answer }), reject)
      })
      request.once("error", reject)
      request.end(body)
    })
  } catch (cause) {
    throw new Unavailable("the edge does not answer on its admin socket", 1000, { cause })
  }
}

function detailOf(body: string): string {
  const parsed: unknown = JSON.parse(body)
  return typeof parsed === "object" && parsed !== null && "detail" in parsed ? String(parsed.detail) : body
}

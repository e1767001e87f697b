/** The control plane's client of the edge: starts one, sends it a table, asks what is open on it. */

import { request as httpRequest } from "node:http"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { type Address, connectOptions } from "@superstep/protocol/http/address"
import type { Secret } from "@superstep/toolkit/config/settings"
import { Conflict, Unavailable } from "@superstep/toolkit/errors/errors"
import { ownNodeOptions } from "@superstep/toolkit/exec/own-program"
import type { TlsFiles } from "@superstep/toolkit/http/tls-files"
import type { LogLevel } from "@superstep/toolkit/log/log"
import type { z } from "zod"
import { startedSchema, statusSchema, takenSchema } from "./admin.js"
import { settings } from "./config.js"
import { tokenHeader } from "./edge-token.js"
import type { Table } from "./table.js"

export type EdgeStatus = z.infer<typeof statusSchema>

/** Where the control plane reaches an edge, and its token. */
export interface EdgeAdmin {
  readonly address: Address
  readonly token: Secret
}

/** The edge's program. */
export const edgeEntry = fileURLToPath(import.meta.resolve("@superstep/edge/main"))

// An edge answers in milliseconds; one that takes longer than this hangs.
const timeoutMs = 5000

/**
 * Sends a table to the edge. When this returns, every new request uses it, also after a restart of the edge, unless that could not write
 * it, as on a full disk.
 * @throws Conflict     the edge has a newer generation: another control plane has taken over
 * @throws Unavailable  the edge does not answer; pushing the same table again is safe
 */
export async function pushTable(admin: EdgeAdmin, table: Table): Promise<{ generation: number }> {
  const { status, body } = await ask(admin, "PUT", "/table", textOf(table))
  if (status === 409) throw new Conflict(detailOf(body), "stale_generation")
  if (status !== 200) throw new Error(`the edge refused table ${table.generation} with ${status}: ${body}`)
  return takenSchema.parse(JSON.parse(body))
}

// Made once for all edges.
const texts = new WeakMap<Table, string>()

function textOf(table: Table): string {
  const text = texts.get(table) ?? JSON.stringify(table)
  texts.set(table, text)
  return text
}

/** @throws Unavailable  the edge does not answer */
export async function edgeStatus(admin: EdgeAdmin): Promise<EdgeStatus> {
  const { status, body } = await ask(admin, "GET", "/status")
  if (status !== 200) throw new Error(`the edge answered ${status}: ${body}`)
  return statusSchema.parse(JSON.parse(body))
}

/**
 * Makes an edge start its successor from its successor file. The successor uses the admin socket and the table file of its
 * own environment.
 * @returns  the successor's pid
 * @throws Unavailable  the edge does not answer
 */
export async function startSuccessor(admin: EdgeAdmin): Promise<number> {
  const { status, body } = await ask(admin, "POST", "/successor")
  if (status !== 201) throw new Error(`the edge refused to start its successor with ${status}: ${body}`)
  return startedSchema.parse(JSON.parse(body)).pid
}

/** Makes an edge retire, since its successor has taken over. @throws Unavailable  it does not answer */
export async function retireEdge(admin: EdgeAdmin): Promise<void> {
  const { status, body } = await ask(admin, "POST", "/retire")
  if (status !== 202) throw new Error(`the edge refused to retire with ${status}: ${body}`)
}

export interface EdgeSpec {
  /** Where an edge that is one of several listens for callers; else its descriptor 3 is a bound socket. */
  readonly listenAddress?: Address
  /** Where it takes tables. */
  readonly adminAddress: Address
  /** At least 32 characters. */
  readonly token: Secret
  /** Absolute: a `Successor` is written there before `startSuccessor` is called. An edge that is one of several has none. */
  readonly successorFile?: string
  /** Absolute. */
  readonly tablePath: string
  /** Absolute paths of certificate and key; with them the edge speaks HTTPS. */
  readonly tls?: TlsFiles | undefined
  /** Absolute: the folder with certificates of host names. */
  readonly certificatesFolder?: string
  /** Its descriptor 4 is a bound socket for plain HTTP. */
  readonly hasPlainSocket?: boolean
  /** Where the control plane takes requests to wake a deployment. */
  readonly wakeAddress: Address
  readonly logLevel?: LogLevel
  /** Addresses or networks of reverse proxies in front, separated by commas. */
  readonly trustedProxies?: string
  readonly graceSeconds?: number
  /** The starter's name for these settings; the edge reports it in its status. */
  readonly command?: string
}

/** How to start an edge: command and whole environment. Unless it is one of several, its descriptor 3 is a bound socket (`bound-socket.ts`). */
export function edgeProcess(spec: EdgeSpec): { argv: [string, ...string[]]; env: Record<string, string> } {
  return {
    argv: [process.execPath, ...ownNodeOptions, edgeEntry],
    env: {
      [settings.adminAddress.env]: spec.adminAddress,
      [settings.token.env]: spec.token.reveal(),
      [settings.tablePath.env]: spec.tablePath,
      [settings.wakeAddress.env]: spec.wakeAddress,
      ...(spec.listenAddress && { [settings.listenAddress.env]: spec.listenAddress }),
      ...(spec.successorFile && { [settings.successorFile.env]: spec.successorFile }),
      ...(spec.tls && { [settings.tlsCert.env]: spec.tls.certFile, [settings.tlsKey.env]: spec.tls.keyFile }),
      ...(spec.certificatesFolder && { [settings.certificatesFolder.env]: spec.certificatesFolder }),
      ...(spec.hasPlainSocket && { [settings.hasPlainSocket.env]: "1" }),
      ...(spec.logLevel && { [settings.logLevel.env]: spec.logLevel }),
      ...(spec.trustedProxies && { [settings.trustedProxies.env]: spec.trustedProxies }),
      ...(spec.command !== undefined && { [settings.command.env]: spec.command }),
      ...(spec.graceSeconds !== undefined && { [settings.graceSeconds.env]: String(spec.graceSeconds) }),
    },
  }
}

async function ask(
  { address, token }: EdgeAdmin,
  method: string,
  path: string,
  body = "",
): Promise<{ status: number; body: string }> {
  const signal = AbortSignal.timeout(timeoutMs)
  const content = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
  const headers = { ...tokenHeader(token), ...content }
  const answer = await new Promise<{ status: number; body: string }>((resolve, reject) => {
    const request = httpRequest(
      { ...connectOptions(address), method, path, headers, signal, agent: false },
      (response) => {
        text(response).then((answered) => resolve({ status: response.statusCode ?? 0, body: answered }), reject)
      },
    )
    request.once("error", reject)
    request.end(body)
  }).catch((cause) => {
    throw new Unavailable(`the edge does not answer at ${address}`, 1000, { cause })
  })
  if (answer.status === 401)
    throw new Unavailable("the edge rejects our token: it belongs to another installation", 1000)
  return answer
}

function detailOf(body: string): string {
  const parsed: unknown = JSON.parse(body)
  return typeof parsed === "object" && parsed !== null && "detail" in parsed ? String(parsed.detail) : body
}

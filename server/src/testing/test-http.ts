/** The whole HTTP application on a real socket, with scripted workers behind it. */

import { fileURLToPath } from "node:url"
import { Secret } from "@superstep/toolkit/config/settings"
import type { Database } from "@superstep/toolkit/db/database"
import { listen } from "@superstep/toolkit/http/listen"
import { createApp } from "../app.js"
import { insertSystemAssistants } from "../assistants/queries.js"
import { Gate, type GateProject } from "../gate/gate.js"
import { type OwnChannel, openOwnChannel } from "../gate/own-channel.js"
import { fetchOf } from "../http/raw-response.js"
import { httpSettings } from "../http/settings.js"
import { WebSockets } from "../http/web-sockets.js"
import type { LanggraphJson } from "../project/langgraph-json.js"
import { Readiness } from "../serving/readiness.js"
import { countOutcomes } from "../serving/run-outcomes.js"
import type { Store } from "../store/store-settings.js"
import { storeOf } from "../store/testing/store-of.js"
import type { DefaultTtl } from "../threads/sweep-queries.js"
import { ProjectCrashes } from "../workers/project-crashes.js"
import {
  parseEvents,
  type ReceivedEvent,
  serverDatabase,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from "./test-server.js"

export interface TestHttp extends AsyncDisposable {
  readonly server: TestServer
  readonly url: string
  /** All routes of the router. */
  readonly routes: readonly { readonly method: string; readonly path: string }[]
  readonly channel: OwnChannel
  readonly gate: Gate
  /** Sends a JSON request and reads the complete reply. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<SentReply>
  /** Opens a stream and reads it in the background. */
  stream(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<OpenStream>
}

export interface SentReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

export interface OpenStream {
  readonly status: number
  readonly headers: Headers
  /** The text received so far. */
  readonly text: () => string
  readonly events: () => ReceivedEvent[]
  readonly ended: Promise<void>
  leave(): void
}

export interface TestHttpOptions extends TestServerOptions {
  readonly isDev?: boolean
  /** Graphs with a system assistant, as after an activation. */
  readonly graphs?: readonly string[]
  readonly consoleFolder?: string
  readonly unitToken?: string
  readonly apiKeys?: string
  /** A project with an auth module or an app. */
  readonly gate?: GateProject
  readonly maxBodyBytes?: number
  readonly keepAliveMs?: number
  /** By default ready from the start. */
  readonly readiness?: Readiness
  /** `http` of langgraph.json. */
  readonly http?: LanggraphJson["http"]
  readonly store?: Partial<Store>
  readonly defaultTtl?: DefaultTtl | undefined
  /** Ends watches of the status; default never. */
  readonly stopping?: AbortSignal
  /** Executes each request. */
  readonly within?: (request: () => Response | Promise<Response>) => Response | Promise<Response>
}

function alwaysReady(): Readiness {
  const readiness = new Readiness()
  readiness.markReady()
  return readiness
}

const withoutRules: GateProject = {
  folder: "",
  env: {},
  auth: undefined,
  app: undefined,
  cache: undefined,
  disableStudioAuth: false,
  authFirst: false,
}

/** The project of tests/guarded; a test adds its auth module or its app. */
export const guardedProject: GateProject = {
  ...withoutRules,
  folder: fileURLToPath(new URL("../../../tests/guarded", import.meta.url)),
}

export async function startTestHttp(db: Database, options: TestHttpOptions = {}): Promise<TestHttp> {
  const { isDev = false, graphs = [] } = options
  if (graphs.length > 0) await insertSystemAssistants(db, graphs, {})
  const server = await startTestServer(db, options)
  const readiness = options.readiness ?? alwaysReady()
  const channel = await openOwnChannel()
  const crashes = new ProjectCrashes()
  const gate = new Gate({ log: server.log, serverEnv: process.env, crashes, loopback: channel.loopback })
  const settings = httpSettings(options.http ?? {}, { isDev, mountPrefix: undefined, corsAllowOrigins: undefined })
  const app = createApp({
    ...server,
    gate,
    crashes,
    outcomes: countOutcomes(),
    modelUse: server.metrics.modelUse,
    channel,
    apiKeys: options.apiKeys === undefined ? undefined : new Secret(options.apiKeys),
    store: storeOf(server.db, options.store),
    version: "0.0.0",
    isDev,
    consoleFolder: options.consoleFolder ?? "/nowhere",
    http: settings,
    unitToken: options.unitToken === undefined ? undefined : new Secret(options.unitToken),
    maxBodyBytes: options.maxBodyBytes ?? 1_000_000,
    readiness,
    ...(options.keepAliveMs !== undefined && { keepAliveMs: options.keepAliveMs }),
    ...(options.stopping && { stopping: options.stopping }),
    tracesToLangsmith: false,
    authDocument: {},
    ui: { of: async () => undefined },
    graphDefaults: {},
    defaultTtl: options.defaultTtl,
    sources: { schemasOf: async () => ({}) },
  })
  await channel.listen(fetchOf(app), settings.mountPrefix)
  await gate.replace(options.gate ?? withoutRules)
  const webSockets = new WebSockets(fetchOf(app))
  const { within = (request) => request() } = options
  const listening = await listen((request, env) => within(() => fetchOf(app)(request, env as never)), {
    host: "127.0.0.1",
    port: 0,
  })
  listening.onUpgrade?.(webSockets.listener)
  const url = `http://127.0.0.1:${listening.port}`
  const request = (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ) =>
    fetch(`${url}${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    })

  const send: TestHttp["send"] = async (method, path, body, headers) => {
    const response = await request(method, path, body, headers)
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.startsWith("application/json")
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
  }

  const stream: TestHttp["stream"] = async (method, path, body, headers) => {
    const abort = new AbortController()
    const response = await request(method, path, body, headers, abort.signal)
    let text = ""
    const read = async () => {
      for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString("utf8")
    }
    // `leave` ends the reading with an abort error, which is expected.
    const ended = read().catch((error: unknown) => {
      if (!abort.signal.aborted) throw error
    })
    const whole = () => text.slice(0, text.lastIndexOf("\n\n") + 2)
    return {
      status: response.status,
      headers: response.headers,
      text: () => text,
      events: () => parseEvents(whole()),
      ended,
      leave: () => abort.abort(),
    }
  }

  const stop = async () => {
    const closed = listening.close(0)
    await server[Symbol.asyncDispose]()
    await webSockets.close(0)
    await closed
    await gate.stop()
    await channel.close()
  }
  return { server, url, routes: app.routes, channel, gate, send, stream, [Symbol.asyncDispose]: stop }
}

/** The same on a database of its own, which ends with it. */
export async function freshHttp(options: TestHttpOptions = {}): Promise<TestHttp & { readonly db: Database }> {
  const db = await serverDatabase()
  const http = await startTestHttp(db, options)
  const stop = async () => {
    await http[Symbol.asyncDispose]()
    await db.close()
  }
  return { ...http, db, [Symbol.asyncDispose]: stop }
}

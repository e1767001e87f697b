/** The one place from which the pages of an agent get their client, in either home. */
import { Client } from "@langchain/langgraph-sdk/client"
import { createContext, useContext } from "react"
import { curlOf } from "../requests/curl.js"
import type { AgentToken } from "./agent-token.js"
import { explained } from "./refusal.js"

export interface Agent {
  /** The official client. It sends each request once: queries repeat what they read, and a person sees at once what was refused. */
  readonly client: Client
  /** For routes that the official client lacks. @param path  such as `/threads` */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
  /** Makes another client, for a stream. `useStream` reads a thread again when it gets one. */
  readonly newClient: () => Client
  /** How streams of threads are opened. */
  readonly streaming: ThreadTransport
  /** The agent's address, without a slash at its end. */
  readonly url: string
  /** A command for the same request, with `$KEY` in place of the key. */
  readonly curl: (method: string, path: string, body?: unknown) => string
  /** False if the session's key may only read: buttons that write are disabled. */
  readonly mayRun: boolean
  /** False if the session's person may not answer what the agent asks, nor change states. */
  readonly mayApprove: boolean
  /** Where the agent's pages are: `/deployments/<id>/agent`, or "" below `superstep dev`. */
  readonly base: string
  /** The deployment's id; undefined below `superstep dev`. */
  readonly deploymentId: string | undefined
}

/**
 * WebSockets, since a browser allows few HTTP connections for streams. Server-sent events for a key that may only read: the edge
 * refuses its WebSockets, because their messages may be commands that write.
 */
export type ThreadTransport =
  | { readonly transport: "websocket"; readonly webSocketFactory: (url: string) => WebSocket }
  | { readonly transport: "sse"; readonly fetch: typeof fetch }

/** The agent of `superstep dev`, which serves the page itself and asks for no key. */
export const ownAgent = (origin: string): Agent =>
  agentOf({
    url: origin,
    base: "",
    deploymentId: undefined,
    mayRun: true,
    mayApprove: true,
    // LangGraph's Studio says so too. The server believes it of a page on its own machine (decision 63).
    headers: async () => ({ "x-auth-scheme": "langsmith" }),
    lastHeaders: () => ({ "x-auth-scheme": "langsmith" }),
  })

/** @param current  the token for the next request */
export function deployedAgent(deploymentId: string, first: AgentToken, current: () => Promise<AgentToken>): Agent {
  let last = first.token
  return agentOf({
    url: first.url.replace(/\/$/, ""),
    base: `/deployments/${deploymentId}/agent`,
    deploymentId,
    mayRun: first.scopes.includes("run"),
    mayApprove: first.scopes.includes("approve"),
    headers: async () => {
      last = (await current()).token
      return { "x-api-key": last }
    },
    lastHeaders: () => ({ "x-api-key": last }),
  })
}

interface AgentOptions {
  readonly url: string
  readonly base: string
  readonly deploymentId: string | undefined
  readonly mayRun: boolean
  readonly mayApprove: boolean
  /** What says who asks. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>
  /** Those of the last request; the pages send some all the time, so they are fresh. */
  readonly lastHeaders: () => Readonly<Record<string, string>>
}

function agentOf({ url, base, deploymentId, mayRun, mayApprove, headers: ours, lastHeaders }: AgentOptions): Agent {
  const fetchWithKey = async (input: string | URL | Request, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries(await ours())) headers.set(name, value)
    return explained(await fetch(input, { ...init, headers }), { isDeployed: deploymentId !== undefined, mayRun })
  }
  // Not `onRequest`: with it the client refuses to open WebSockets.
  const clientWith = (options: { maxRetries?: number }) =>
    new Client({ apiUrl: url, apiKey: null, callerOptions: { fetch: fetchWithKey, ...options } })
  const webSocketFactory = (address: string) => new WebSocket(address, subprotocolsOf(lastHeaders()))
  return {
    url,
    base,
    deploymentId,
    mayRun,
    mayApprove,
    client: clientWith({ maxRetries: 0 }),
    newClient: () => clientWith({}),
    fetch: (path, init) => fetchWithKey(url + path, init),
    streaming: mayRun ? { transport: "websocket", webSocketFactory } : { transport: "sse", fetch: fetchWithKey },
    curl: (method, path, body) => curlOf({ method, url: url + path, body, hasKey: deploymentId !== undefined }),
  }
}

/** A page cannot send headers with a WebSocket: they go along as subprotocols (server/src/thread-stream/README.md). */
const subprotocolsOf = (headers: Readonly<Record<string, string>>): string[] => [
  ...Object.entries(headers).map(
    ([name, value]) => `${name}.${btoa(value).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`,
  ),
  "agent-protocol",
]

export const AgentContext = createContext<Agent | undefined>(undefined)

export function useAgent(): Agent {
  const agent = useContext(AgentContext)
  if (!agent) throw new Error("useAgent is called outside of an agent's pages")
  return agent
}

/** The one place from which the pages of an agent get their client, in either home. */
import { Client } from "@langchain/langgraph-sdk/client"
import { createContext, useContext } from "react"
import { curlOf } from "../frame/curl.js"
import type { AgentToken } from "./agent-token.js"

export interface Agent {
  /** The official client. */
  readonly client: Client
  /** For routes that the official client lacks. @param path  such as `/threads` */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
  /** The agent's address, without a slash at its end. */
  readonly url: string
  /** A command for the same request, with `$KEY` in place of the key. */
  readonly curl: (method: string, path: string, body?: unknown) => string
  /** False if the session's key may only read: buttons that write are disabled. */
  readonly mayRun: boolean
  /** Where the agent's pages are: `/deployments/<id>/agent`, or "" below `superstep dev`. */
  readonly base: string
  /** The deployment's id; undefined below `superstep dev`. */
  readonly deploymentId: string | undefined
}

/** The agent of `superstep dev`, which serves the page itself and asks for no key. */
export const ownAgent = (origin: string): Agent =>
  agentOf({ url: origin, base: "", deploymentId: undefined, mayRun: true, headers: async () => ({}) })

/** @param current  the token for the next request */
export const deployedAgent = (deploymentId: string, first: AgentToken, current: () => Promise<AgentToken>): Agent =>
  agentOf({
    url: first.url.replace(/\/$/, ""),
    base: `/deployments/${deploymentId}/agent`,
    deploymentId,
    mayRun: first.scopes.includes("run"),
    headers: async () => ({ "x-api-key": (await current()).token }),
  })

interface AgentOptions {
  readonly url: string
  readonly base: string
  readonly deploymentId: string | undefined
  readonly mayRun: boolean
  readonly headers: () => Promise<Record<string, string>>
}

function agentOf({ url, base, deploymentId, mayRun, headers }: AgentOptions): Agent {
  const withKey = async (init: RequestInit = {}) => {
    const all = new Headers(init.headers)
    for (const [name, value] of Object.entries(await headers())) all.set(name, value)
    return { ...init, headers: all }
  }
  return {
    url,
    base,
    deploymentId,
    mayRun,
    client: new Client({ apiUrl: url, apiKey: null, onRequest: (_, init) => withKey(init) }),
    fetch: async (path, init) => fetch(url + path, await withKey(init)),
    curl: (method, path, body) => curlOf({ method, url: url + path, body, hasKey: deploymentId !== undefined }),
  }
}

export const AgentContext = createContext<Agent | undefined>(undefined)

export function useAgent(): Agent {
  const agent = useContext(AgentContext)
  if (!agent) throw new Error("useAgent is called outside of an agent's pages")
  return agent
}

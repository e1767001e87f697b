/** Requests to an agent server of whoever shows the headers. */
import type { AgentServerProcess } from "./agent-servers.js"

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: what a body holds is what each test asserts
  readonly body: any
}

export async function ask(server: AgentServerProcess, path: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { ...server.headers, ...(init.headers as Record<string, string>) }
  const response = await fetch(`${server.url}${path}`, { ...init, headers })
  const text = await response.text()
  const isJson = response.headers.get("content-type")?.startsWith("application/json")
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

/** What a user of `tests/guarded` sends. */
export const bearer = (name: string) => ({ authorization: `Bearer ${name}-token` })

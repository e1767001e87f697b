/**
 * A git host's API for commit statuses, as GitHub, GitLab, Gitea and Bitbucket document theirs: paths, headers, accepted
 * values and status codes. The hosts themselves cannot run here.
 */
import type { IncomingMessage } from "node:http"
import { portServer } from "@superstep/toolkit/testing/http-server"

export interface ReceivedStatus {
  readonly path: string
  readonly body: Record<string, string>
}

export interface FakeGitHost extends AsyncDisposable {
  /** `127.0.0.1:<port>` */
  readonly host: string
  readonly received: ReceivedStatus[]
  /** While set, sent as the answer in place of its own. */
  instead: { status: number; body: string; headers?: Record<string, string> } | undefined
}

interface Api {
  readonly path: RegExp
  readonly isAuthorized: (request: IncomingMessage, token: string) => boolean
  readonly states: readonly string[]
  /** The host's status code for a request with an unknown state. */
  readonly malformed: number
}

const apis: readonly Api[] = [
  {
    path: /^\/api\/v3\/repos\/acme\/shop\/statuses\/[0-9a-f]{40}$/,
    isAuthorized: ({ headers }, token) =>
      headers.authorization === `Bearer ${token}` && headers["x-github-api-version"] === "2022-11-28",
    states: ["error", "failure", "pending", "success"],
    malformed: 422,
  },
  {
    path: /^\/api\/v4\/projects\/acme%2Fshop\/statuses\/[0-9a-f]{40}$/,
    isAuthorized: ({ headers }, token) => headers["private-token"] === token,
    states: ["pending", "running", "success", "failed", "canceled"],
    malformed: 400,
  },
  {
    path: /^\/api\/v1\/repos\/acme\/shop\/statuses\/[0-9a-f]{40}$/,
    isAuthorized: ({ headers }, token) => headers.authorization === `token ${token}`,
    states: ["pending", "success", "error", "failure", "warning"],
    malformed: 422,
  },
  {
    path: /^\/2\.0\/repositories\/acme\/shop\/commit\/[0-9a-f]{40}\/statuses\/build$/,
    isAuthorized: ({ headers }, token) => headers.authorization === `Bearer ${token}`,
    states: ["INPROGRESS", "SUCCESSFUL", "FAILED", "STOPPED"],
    malformed: 400,
  },
]

/** @param token  the only one that it accepts */
export async function fakeGitHost(token: string): Promise<FakeGitHost> {
  const server = await portServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const path = request.url ?? ""
    const answer = (status: number, body: string, headers: Record<string, string> = {}) =>
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(body)
    if (it.instead) return answer(it.instead.status, it.instead.body, it.instead.headers)
    const api = apis.find((one) => one.path.test(path))
    if (!api || request.method !== "POST") return answer(404, '{"message":"Not Found"}')
    if (!api.isAuthorized(request, token)) return answer(401, '{"message":"Bad credentials"}')
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, string>
    if (!api.states.includes(body.state ?? "")) return answer(api.malformed, '{"message":"state is not valid"}')
    it.received.push({ path, body })
    return answer(201, JSON.stringify({ id: it.received.length, state: body.state }))
  })
  const it: FakeGitHost = { ...server, received: [], instead: undefined }
  return it
}

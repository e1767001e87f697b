/** The request that reports a commit's status to a git host, in the format of its API. Pure. */

import { defaultUsername } from "../integrations/integration.js"
import type { GitCredentials } from "../sources/git-location.js"
import type { Provider } from "./push.js"
import { repositoryPath } from "./repository-key.js"

export type CommitState = "pending" | "success" | "failure" | "cancelled"

export interface CommitStatus {
  readonly sha: string
  readonly state: CommitState
  /** Distinguishes our statuses from others', and per deployment: `superstep/shop-bot`. */
  readonly context: string
  readonly description: string
  /** Link to details: the agent itself once it is deployed. */
  readonly targetUrl: string
}

/** An ssh key gives no access to the API. */
export type TokenCredentials = Extract<GitCredentials, { kind: "token" }>

export interface StatusRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * The address of the host's pages. Only the integration's own host may see the token.
 * @param host  the integration's, with its port if it has one
 * @returns     undefined when the repository is on another host
 */
export function originOf(repoUrl: string, host: string): string | undefined {
  const url = URL.canParse(repoUrl) ? new URL(repoUrl) : undefined
  if (url?.protocol === "https:" || url?.protocol === "http:") return url.host === host ? url.origin : undefined
  // An ssh address, which says nothing about the port of the API.
  const sshHost = url?.protocol === "ssh:" ? url.hostname : /^[\w.-]+@([\w.-]+):/.exec(repoUrl)?.[1]
  return sshHost?.toLowerCase() === host.replace(/:\d+$/, "") ? `https://${host}` : undefined
}

const apiOf: Readonly<Record<Provider, (origin: string) => string>> = {
  github: (origin) => {
    const { host } = new URL(origin)
    if (host === "github.com" || host.endsWith(".ghe.com")) return `https://api.${host}`
    return `${origin}/api/v3`
  },
  gitlab: (origin) => `${origin}/api/v4`,
  gitea: (origin) => `${origin}/api/v1`,
  bitbucket: (origin) => (origin === "https://bitbucket.org" ? "https://api.bitbucket.org/2.0" : `${origin}/2.0`),
}

/** @returns  undefined when the repository's address has no name on its host */
export function statusRequest(
  provider: Provider,
  { repoUrl, origin, credentials }: { repoUrl: string; origin: string; credentials: TokenCredentials },
  status: CommitStatus,
): StatusRequest | undefined {
  const path = repositoryPath(repoUrl)
  if (!path?.includes("/")) return undefined
  const { target, headers, body } = forms[provider](path, status, credentials)
  return {
    url: `${apiOf[provider](origin)}${target}`,
    headers: { "content-type": "application/json", accept: "application/json", "user-agent": "superstep", ...headers },
    body: JSON.stringify(body),
  }
}

interface Form {
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

const encoded = (path: string): string => path.split("/").map(encodeURIComponent).join("/")
const cut = (text: string, length: number): string => (text.length <= length ? text : `${text.slice(0, length - 1)}…`)

const forms: Readonly<Record<Provider, (path: string, it: CommitStatus, who: TokenCredentials) => Form>> = {
  /** @see https://docs.github.com/en/rest/commits/statuses#create-a-commit-status */
  github: (path, it, { token }) => ({
    target: `/repos/${encoded(path)}/statuses/${it.sha}`,
    headers: {
      authorization: `Bearer ${token.reveal()}`,
      accept: "application/vnd.github+json",
      "x-github-api-version": "2022-11-28",
    },
    body: {
      state: it.state === "cancelled" ? "error" : it.state,
      context: it.context,
      description: cut(it.description, 140),
      target_url: it.targetUrl,
    },
  }),
  /** @see https://docs.gitlab.com/api/commits/#set-commit-pipeline-status */
  gitlab: (path, it, { token }) => ({
    target: `/projects/${encodeURIComponent(path)}/statuses/${it.sha}`,
    headers: { "private-token": token.reveal() },
    body: {
      state: { pending: "pending", success: "success", failure: "failed", cancelled: "canceled" }[it.state],
      name: it.context,
      description: cut(it.description, 255),
      target_url: it.targetUrl,
    },
  }),
  /** @see https://docs.gitea.com/api, repoCreateStatus */
  gitea: (path, it, { token }) => ({
    target: `/repos/${encoded(path)}/statuses/${it.sha}`,
    headers: { authorization: `token ${token.reveal()}` },
    body: {
      state: it.state === "cancelled" ? "warning" : it.state,
      context: it.context,
      description: cut(it.description, 255),
      target_url: it.targetUrl,
    },
  }),
  /** @see https://developer.atlassian.com/cloud/bitbucket/rest/api-group-commit-statuses/ */
  bitbucket: (path, it, who) => ({
    target: `/repositories/${encoded(path)}/commit/${it.sha}/statuses/build`,
    headers: { authorization: bitbucketAuthorization(who) },
    body: {
      state: { pending: "INPROGRESS", success: "SUCCESSFUL", failure: "FAILED", cancelled: "STOPPED" }[it.state],
      // Bitbucket accepts 40 characters; the name has all of them.
      key: it.context.slice(0, 40),
      name: it.context,
      description: cut(it.description, 255),
      url: it.targetUrl,
    },
  }),
}

/** An access token is used alone; an API token belongs to an account, whose name comes with it. */
function bitbucketAuthorization({ username, token }: TokenCredentials): string {
  if (username === defaultUsername || username === "x-token-auth") return `Bearer ${token.reveal()}`
  return `Basic ${Buffer.from(`${username}:${token.reveal()}`).toString("base64")}`
}

export type Verdict = "sent" | "again" | "refused"

/** Interprets the host's answer. @param status  undefined when there was none */
export function verdictOn(provider: Provider, status: number | undefined, reply: string): Verdict {
  if (status === undefined || status >= 500 || status === 408) return "again"
  if (status >= 200 && status < 300) return "sent"
  // Older GitLabs refuse a status that is already set.
  if (provider === "gitlab" && status === 400 && reply.includes("Cannot transition status")) return "sent"
  return isLimit(status, reply) ? "again" : "refused"
}

/** Whether the host counts calls and has had enough of them. GitHub says so with 403, too. */
export const isLimit = (status: number | undefined, reply: string): boolean =>
  status === 429 || (status === 403 && /rate limit/i.test(reply))

/** Deliveries as each host sends them: its headers, its fields, signed with its method. */
import { createHmac, randomUUID } from "node:crypto"
import type { Provider } from "../push.js"

export interface SentDelivery {
  readonly path: string
  readonly headers: Record<string, string>
  readonly text: string
}

export const noCommit = "0".repeat(40)
export const shaOf = (digit: string): string => digit.repeat(40)

export interface PushFields {
  readonly before?: string
  readonly after?: string
  readonly ref?: string
  readonly message?: string
  readonly files?: readonly string[]
  readonly forced?: boolean
  /** `https://host/acme/shop`, without `.git`. */
  readonly repoUrl?: string
}

const hmac = (secret: string, text: string) => createHmac("sha256", secret).update(text).digest("hex")

/** Signs a body as its host does. @param id  of the delivery; default a new one */
export function signed(
  provider: Provider,
  { secret, event, body, id = randomUUID() }: { secret: string; event: string; body: object | string; id?: string },
): SentDelivery {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  const headers: Record<Provider, Record<string, string>> = {
    github: {
      "x-github-event": event,
      "x-github-delivery": id,
      "x-hub-signature-256": `sha256=${hmac(secret, text)}`,
    },
    gitea: { "x-gitea-event": event, "x-gitea-delivery": id, "x-gitea-signature": hmac(secret, text) },
    gitlab: { "x-gitlab-event": event, "x-gitlab-event-uuid": id, "x-gitlab-token": secret },
    bitbucket: { "x-event-key": event, "x-request-uuid": id, "x-hub-signature": `sha256=${hmac(secret, text)}` },
  }
  return {
    path: `/v1/integrations/${provider}/webhook`,
    headers: { "content-type": "application/json", ...headers[provider] },
    text,
  }
}

const defaults = {
  before: shaOf("a"),
  after: shaOf("b"),
  ref: "refs/heads/main",
  message: "a change",
  files: ["chat.mjs"] as readonly string[],
  forced: false,
  repoUrl: "https://github.com/acme/shop",
}

/** The fields of a push that the code reads, as each host documents them. */
export function pushBody(provider: Provider, fields: PushFields = {}): object {
  const it = { ...defaults, ...fields }
  const commit = { id: it.after, message: it.message, added: [], modified: it.files, removed: [] }
  const commits = it.after === noCommit || it.files.length === 0 ? [] : [commit]
  const { before, after, ref, forced } = it
  if (provider === "github") {
    const [created, deleted] = [before === noCommit, after === noCommit]
    const head_commit = deleted ? null : commit
    return { ref, before, after, created, deleted, forced, commits, head_commit, repository: repositoryOf(it.repoUrl) }
  }
  if (provider === "gitea") {
    const head_commit = commits[0] ?? null
    return {
      ref,
      before,
      after,
      commits,
      total_commits: commits.length,
      head_commit,
      repository: repositoryOf(it.repoUrl),
    }
  }
  return provider === "gitlab" ? gitlabPush(it, commits) : bitbucketPush(it, commits)
}

const nameOf = (repoUrl: string) => new URL(repoUrl).pathname.slice(1)

export const repositoryOf = (repoUrl: string) => ({
  full_name: nameOf(repoUrl),
  html_url: repoUrl,
  clone_url: `${repoUrl}.git`,
  ssh_url: `git@${new URL(repoUrl).hostname}:${nameOf(repoUrl)}.git`,
})

type AllFields = typeof defaults

const gitlabPush = ({ before, after, ref, repoUrl }: AllFields, commits: readonly object[]) => ({
  object_kind: ref.startsWith("refs/tags/") ? "tag_push" : "push",
  ref,
  before,
  after,
  checkout_sha: after === noCommit ? null : after,
  commits,
  total_commits_count: commits.length,
  project: {
    path_with_namespace: nameOf(repoUrl),
    web_url: repoUrl,
    git_http_url: `${repoUrl}.git`,
    git_ssh_url: repositoryOf(repoUrl).ssh_url,
  },
})

function bitbucketPush(
  { before, after, ref, message, forced, repoUrl }: AllFields,
  commits: readonly { id: string }[],
) {
  const type = ref.startsWith("refs/tags/") ? "tag" : "branch"
  const name = ref.replace(/^refs\/(heads|tags)\//, "")
  const end = (hash: string) => (hash === noCommit ? null : { type, name, target: { type: "commit", hash, message } })
  const change = {
    new: end(after),
    old: end(before),
    created: before === noCommit,
    closed: after === noCommit,
    forced,
    commits: commits.map(({ id: hash }) => ({ hash })),
  }
  return { push: { changes: [change] }, repository: { full_name: nameOf(repoUrl), links: { html: { href: repoUrl } } } }
}

export const pushEvents: Readonly<Record<Provider, string>> = {
  github: "push",
  gitea: "push",
  gitlab: "Push Hook",
  bitbucket: "repo:push",
}

export const signedPush = (provider: Provider, secret: string, fields?: PushFields, id?: string): SentDelivery =>
  signed(provider, {
    secret,
    event: pushEvents[provider],
    body: pushBody(provider, fields),
    ...(id !== undefined && { id }),
  })

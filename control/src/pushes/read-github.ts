/**
 * Parses deliveries of GitHub, and of Gitea and Forgejo, whose format is nearly the same.
 * @see https://docs.github.com/en/webhooks/webhook-events-and-payloads#push
 * @see https://docs.gitea.com/usage/webhooks
 */
import { z } from "zod"
import { addresses, changedPathsOf, commits, fullSha, isNoCommit, parsePayload, text } from "./payload.js"
import type { GitEvent, PullRequestEvent, Push } from "./push.js"

// The most commits that GitHub lists for a push (its documentation of the push event).
const mostCommits = 2048

const repository = z.object({ clone_url: text, ssh_url: text, html_url: text, git_url: text, url: text })

const pushPayload = z.object({
  ref: z.string(),
  after: z.string(),
  created: z.boolean().nullish(),
  deleted: z.boolean().nullish(),
  forced: z.boolean().nullish(),
  before: text,
  commits: commits.nullish(),
  total_commits: z.int().nullish(),
  head_commit: z.object({ id: z.string(), message: z.string() }).nullish(),
  repository,
})

const branch = z.object({
  ref: z.string(),
  sha: z.string(),
  repo: z.object({ full_name: z.string() }).nullish(),
})
const pullPayload = z.object({
  action: z.string(),
  number: z.int().positive().max(2_147_483_647),
  label: z.object({ name: z.string() }).nullish(),
  pull_request: z.object({
    title: z.string(),
    head: branch,
    base: branch,
    labels: z.array(z.object({ name: z.string() })).nullish(),
  }),
  repository,
})

/** @param event  the header `X-GitHub-Event` or `X-Gitea-Event` @throws ZodError */
export function readGithub(event: string, payload: unknown): GitEvent {
  if (event === "push") return pushOf(parsePayload(pushPayload, payload))
  if (event === "pull_request" || event === "pull_request_sync" || event === "pull_request_label") {
    return pullOf(parsePayload(pullPayload, payload))
  }
  return { kind: "other", what: event }
}

function pushOf(it: z.output<typeof pushPayload>): Push {
  const listed = it.commits ?? []
  const isCreated = it.created ?? isNoCommit(it.before)
  const head = it.head_commit ?? listed.find(({ id }) => id === it.after)
  // Lists of commits lack what a forced push removed, and how a new branch differs.
  const isComplete =
    !isCreated &&
    !it.forced &&
    listed.length < mostCommits &&
    listed.length >= (it.total_commits ?? 0) &&
    listed.length > 0
  return {
    kind: "push",
    repositories: addresses(Object.values(it.repository)),
    ref: it.ref,
    after: it.deleted || isNoCommit(it.after) ? null : fullSha(it.after),
    isCreated,
    commits: it.total_commits ?? listed.length,
    message: head?.message ?? "",
    changedPaths: isComplete ? changedPathsOf(listed) : undefined,
  }
}

const changes = new Set(["opened", "reopened", "synchronize", "synchronized"])
const labelings = new Set(["labeled", "label_updated"])

function pullOf(it: z.output<typeof pullPayload>): GitEvent {
  const { action, number, pull_request: pull } = it
  const kept = changes.has(action) ? "changed" : labelings.has(action) ? "labeled" : action === "closed" ? action : null
  if (kept === null) return { kind: "other", what: `pull_request ${action}` }
  const all = (pull.labels ?? []).map(({ name }) => name)
  return {
    kind: "pull_request",
    repositories: addresses(Object.values(it.repository)),
    number,
    title: pull.title,
    action: kept,
    // Gitea reports that labels have changed, but not which.
    areLabelsAll: !it.label,
    labels: kept === "labeled" ? (it.label ? [it.label.name] : all) : [],
    baseBranch: pull.base.ref,
    headRef: `refs/pull/${number}/head`,
    headSha: fullSha(pull.head.sha),
    // A deleted fork has no repository any more.
    isFork: !pull.base.repo || pull.head.repo?.full_name !== pull.base.repo.full_name,
  } satisfies PullRequestEvent
}

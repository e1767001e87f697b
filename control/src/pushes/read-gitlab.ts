/**
 * Parses deliveries of GitLab.
 * @see https://docs.gitlab.com/user/project/integrations/webhook_events/
 */
import { z } from "zod"
import { addresses, changedPathsOf, commits, fullSha, isNoCommit, parsePayload, text } from "./payload.js"
import type { GitEvent, PullRequestEvent, Push } from "./push.js"

const project = z.object({ git_http_url: text, git_ssh_url: text, web_url: text, http_url: text, ssh_url: text })

const pushPayload = z.object({
  ref: z.string(),
  before: text,
  after: z.string(),
  commits: commits.nullish(),
  total_commits_count: z.int().nullish(),
  project,
})

const label = z.object({ title: z.string() })
const mergePayload = z.object({
  project,
  object_attributes: z.object({
    iid: z.int().positive().max(2_147_483_647),
    title: z.string(),
    action: text,
    // The commit before a push; absent when something else was updated.
    oldrev: text,
    source_branch: z.string(),
    target_branch: z.string(),
    source_project_id: z.int(),
    target_project_id: z.int(),
    last_commit: z.object({ id: z.string() }),
  }),
  changes: z.object({ labels: z.object({ previous: z.array(label), current: z.array(label) }).nullish() }).nullish(),
})

/** @param event  the header `X-Gitlab-Event` @throws ZodError */
export function readGitlab(event: string, payload: unknown): GitEvent {
  if (event === "Push Hook" || event === "Tag Push Hook") return pushOf(parsePayload(pushPayload, payload))
  if (event === "Merge Request Hook") return mergeOf(parsePayload(mergePayload, payload))
  return { kind: "other", what: event }
}

function pushOf(it: z.output<typeof pushPayload>): Push {
  const listed = it.commits ?? []
  const count = it.total_commits_count ?? listed.length
  const isCreated = isNoCommit(it.before)
  return {
    kind: "push",
    repositories: addresses(Object.values(it.project)),
    ref: it.ref,
    after: isNoCommit(it.after) ? null : fullSha(it.after),
    isCreated,
    commits: count,
    message: listed.find(({ id }) => id === it.after)?.message ?? "",
    // GitLab lists 20 commits at most, and reports no forced push: for one it counts zero commits.
    changedPaths: !isCreated && count > 0 && listed.length === count ? changedPathsOf(listed) : undefined,
  }
}

function mergeOf({ project: of, object_attributes: it, changes }: z.output<typeof mergePayload>): GitEvent {
  const labels = addedLabels(changes?.labels ?? undefined)
  const action = actionOf(it.action, { isPush: !isNoCommit(it.oldrev), isLabeling: labels.length > 0 })
  if (!action) return { kind: "other", what: `merge request ${it.action ?? ""}`.trimEnd() }
  return {
    kind: "pull_request",
    repositories: addresses(Object.values(of)),
    number: it.iid,
    title: it.title,
    action,
    labels,
    areLabelsAll: false,
    baseBranch: it.target_branch,
    headRef: `refs/merge-requests/${it.iid}/head`,
    headSha: fullSha(it.last_commit.id),
    isFork: it.source_project_id !== it.target_project_id,
  } satisfies PullRequestEvent
}

function actionOf(
  action: string | null | undefined,
  { isPush, isLabeling }: { isPush: boolean; isLabeling: boolean },
): PullRequestEvent["action"] | undefined {
  if (action === "open" || action === "reopen") return "changed"
  if (action === "close" || action === "merge") return "closed"
  if (action !== "update") return undefined
  if (isPush) return "changed"
  return isLabeling ? "labeled" : undefined
}

function addedLabels(labels: { previous: { title: string }[]; current: { title: string }[] } | undefined): string[] {
  const before = new Set(labels?.previous.map(({ title }) => title))
  return (labels?.current ?? []).map(({ title }) => title).filter((title) => !before.has(title))
}

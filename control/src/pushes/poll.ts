/**
 * Polls the repositories of deployments that build on push, for hosts that cannot reach us and for lost webhooks. It owns no
 * state: the time of the next poll and the last seen commit are in `watched_branches`, so a restart neither misses a push nor
 * builds one twice (H5). One poll serves all deployments of a repository. `stop` resolves when no git process runs any more.
 */
import type { Database } from "@superstep/toolkit/db/database"
import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import type { Log } from "@superstep/toolkit/log/log"
import type { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { credentialsOf } from "../integrations/operations.js"
import type { MasterKey } from "../secrets/seal.js"
import type { GitSource } from "../sources/git.js"
import { SourceFailed } from "../sources/port.js"
import { buildPush } from "./build-push.js"
import { watchedRef } from "./decide.js"
import { countFailures, type DueBranch, dueBranches, planLooks, pollSoon } from "./queries.js"

export interface Polling {
  readonly db: Database
  readonly log: Log
  readonly failures: MemberFailures
  readonly key: MasterKey
  readonly git: GitSource
  /** How often a repository is polled, in milliseconds. */
  readonly pollMs: number
}

// After a webhook, polling pauses for this long; each push is followed by one poll all the same.
const toldMs = 24 * 3_600_000
// A host that is down for long is polled once an hour.
const mostMs = 3_600_000
// One query checks whether something is due. Repositories are polled every minute at most, unless told otherwise.
const passMs = 15_000
// Hosts limit the number of connections per client.
const looksAtOnce = 4

export function startPolling(polling: Polling): Pick<Repeated, "wake" | "stop"> {
  const stopping = new AbortController()
  let isFirst = true
  const pass = async () => {
    try {
      if (isFirst) await pollSoon(polling.db, polling.pollMs)
      isFirst = false
      await pollDue(polling, stopping.signal)
    } catch (err) {
      polling.log.warn({ err }, "repositories could not be polled; retrying")
    }
  }
  const passes = repeated(pass, Math.min(passMs, polling.pollMs))
  passes.wake()
  return {
    wake: passes.wake,
    stop: async () => {
      stopping.abort()
      await passes.stop()
    },
  }
}

/** Polls every repository that is due; a failure of one does not stop the others. */
export async function pollDue(polling: Polling, signal: AbortSignal): Promise<void> {
  const groups = inTurns([...groupedByRepository(await dueBranches(polling.db, toldMs)).values()])
  const next = groups.values()
  const work = async () => {
    for (const group of next) {
      if (signal.aborted) return
      const facts = { deployment_id: group[0]?.deployment_id ?? "" }
      await polling.failures.attempt("the polling of a repository", facts, () => look(polling, group, signal))
    }
  }
  await Promise.all(Array.from({ length: looksAtOnce }, work))
}

/** Orders repositories so that workspaces take turns: slow hosts of one hold up only its own. Pure. */
export function inTurns<Branch extends Pick<DueBranch, "workspace_id">>(groups: readonly Branch[][]): Branch[][] {
  const seen = new Map<string | undefined, number>()
  const placed = groups.map((group) => {
    const workspaceId = group[0]?.workspace_id
    const round = seen.get(workspaceId) ?? 0
    seen.set(workspaceId, round + 1)
    return { group, round }
  })
  return placed.sort((one, other) => one.round - other.round).map(({ group }) => group)
}

interface Watched extends DueBranch {
  readonly ref: string
}

function groupedByRepository(branches: readonly DueBranch[]): Map<string, Watched[]> {
  const groups = new Map<string, Watched[]>()
  for (const branch of branches) {
    // A tag or a commit does not move: it is scheduled again only in case its deployment follows a branch by then.
    const watched = { ...branch, ref: watchedRef(branch.repo_ref) ?? "" }
    const key = JSON.stringify([branch.workspace_id, branch.integration_id, branch.repo_url])
    groups.set(key, [...(groups.get(key) ?? []), watched])
  }
  return groups
}

async function look(polling: Polling, group: readonly Watched[], signal: AbortSignal): Promise<void> {
  const { db, log, pollMs } = polling
  const [first] = group
  if (!first) return
  // Spreads the repositories over time.
  const jitter = 0.9 + 0.2 * Math.random()
  const inMs = Math.min(mostMs, pollMs * 2 ** Math.min(10, first.failures)) * jitter
  const plans = group.map((it) => ({
    deploymentId: it.deployment_id,
    ref: it.ref,
    webhookAt: it.webhook_at,
    inMs: Math.max(inMs, it.told_ms),
  }))
  await planLooks(db, plans)
  const ids = group.map(({ deployment_id }) => deployment_id)
  try {
    await buildMovedBranches(polling, group, plans, signal)
    if (first.failures > 0) await countFailures(db, ids, false)
  } catch (err) {
    if (signal.aborted) return
    log.warn({ err, deployment_ids: ids, failures: first.failures + 1 }, "a repository could not be polled")
    await countFailures(db, ids, true)
    const askedMs = err instanceof SourceFailed ? err.askedMs : 0
    if (askedMs > inMs)
      await planLooks(
        db,
        plans.map((plan) => ({ ...plan, inMs: Math.max(plan.inMs, askedMs) })),
      )
  }
}

async function buildMovedBranches(
  { db, log, key, git }: Polling,
  group: readonly Watched[],
  plans: readonly { inMs: number }[],
  signal: AbortSignal,
): Promise<void> {
  const refs = [...new Set(group.map(({ ref }) => ref))].filter((ref) => ref !== "")
  const [first] = group
  if (!first || refs.length === 0) return
  const { workspace_id: workspaceId, integration_id: integrationId, repo_url: repoUrl } = first
  const credentials = integrationId === null ? undefined : await credentialsOf(db, key, { workspaceId, integrationId })
  const heads = await git.heads({ repoUrl, ...(credentials && { credentials }) }, refs, signal)
  for (const [index, branch] of group.entries()) {
    const sha = heads.get(branch.ref)
    if (sha === undefined) continue
    const { result, revision_id } = await db.transaction((tx) =>
      buildPush(tx, key, branch, {
        ...{ sha, ref: branch.ref, isWebhook: false, knownBefore: branch },
        lookInMs: plans[index]?.inMs ?? mostMs,
      }),
    )
    if (result === "accepted")
      log.info({ deployment_id: branch.deployment_id, revision_id, sha }, "polling found a push")
  }
}

/**
 * Reports the status of commits to git hosts. The outbox `commit_statuses` keeps the newest state of each revision until the
 * host has accepted it: a kill loses none, and outdated states are not sent. A refusal by a host is logged in the revision's
 * build log and changes nothing else. `stop` resolves when no call is open any more.
 */

import type { Database } from "@superstep/toolkit/db/database"
import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import type { Log } from "@superstep/toolkit/log/log"
import type { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { hideSecrets } from "@superstep/toolkit/text/hide-secrets"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import { addressKind } from "@superstep/toolkit/webhooks/addresses"
import { retryDelayMs } from "@superstep/toolkit/webhooks/retry"
import { callHost } from "@superstep/toolkit/webhooks/send"
import { publicUrl } from "../deployments/deployment.js"
import { credentialsOf } from "../integrations/operations.js"
import { appendLogLines } from "../logs/operations.js"
import { CannotOpen, type MasterKey } from "../secrets/seal.js"
import { type CommitStatus, originOf, statusRequest, verdictOn } from "./commit-status.js"
import { type Provider, providerOfHost } from "./push.js"
import {
  type DueStatus,
  delayStatus,
  freeTakenStatuses,
  nextStatusMs,
  settleStatus,
  takeDueStatuses,
} from "./status-queries.js"

export interface StatusSender {
  readonly db: Database
  readonly log: Log
  readonly failures: MemberFailures
  readonly key: MasterKey
  /** The public address of agents. */
  readonly agentsUrl: string
  /** The public address of this API and of the console. */
  readonly apiUrl: string
  /** Whether a git host may be on this machine: only while the platform itself listens nowhere else. */
  readonly allowsLoopback: boolean
}

const callMs = 15_000
const leaseMs = 60_000
// A notification reports new statuses, and retries are waited for: this finds those whose notification was lost.
const safetyMs = 60_000
// After a failure of our own, such as an unreachable database.
const ownRetryMs = 5000
// Seven tries in all, the last a day after the first: after that nobody needs it any more.
const delaysMs = [5000, 30_000, 300_000, 1_800_000, 14_400_000, 64_800_000]

export function startStatusSender(sender: StatusSender): Pick<Repeated, "wake" | "stop"> {
  const stopping = new AbortController()
  let isFirst = true
  const pass = async () => {
    try {
      if (isFirst) await freeTakenStatuses(sender.db)
      isFirst = false
      await sendDue(sender, stopping.signal)
      const dueMs = await nextStatusMs(sender.db)
      if (dueMs !== undefined) passes.wakeWithin(Math.max(0, dueMs) + 5)
    } catch (err) {
      sender.log.warn({ err }, "commit statuses could not be sent; retrying")
      passes.wakeWithin(ownRetryMs)
    }
  }
  const passes: Repeated = repeated(pass, safetyMs)
  passes.wake()
  return {
    wake: passes.wake,
    stop: async () => {
      stopping.abort()
      await passes.stop()
    },
  }
}

/** Sends all that is due. */
export async function sendDue(sender: StatusSender, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const due = await takeDueStatuses(sender.db, leaseMs)
    if (due.length === 0) return
    const sendAlone = (it: DueStatus) =>
      sender.failures.attempt("the sending of a commit status", { revision_id: it.revision_id }, () =>
        send(sender, it, signal),
      )
    await Promise.all(due.map(sendAlone))
  }
}

async function send(sender: StatusSender, it: DueStatus, signal: AbortSignal): Promise<void> {
  const { db, key } = sender
  const done = { revisionId: it.revision_id, state: it.wanted }
  const provider = it.provider ?? providerOfHost(it.host)
  const origin = originOf(it.repo_url, it.host)
  if (!provider || !origin) {
    // An integration that is used only for fetching.
    await settleStatus(db, {
      ...done,
      isSent: false,
      error: "the provider of the host is unknown, or the repository is on another host than the integration",
    })
    return
  }
  const ids = { workspaceId: it.workspace_id, integrationId: it.integration_id }
  const credentials = await credentialsOf(db, key, ids).catch((error: unknown) => {
    if (error instanceof CannotOpen) return undefined
    throw error
  })
  if (credentials?.kind !== "token") {
    await settleStatus(db, { ...done, isSent: false, error: "the integration has no token, or it cannot be decrypted" })
    return
  }
  const request = statusRequest(provider, { repoUrl: it.repo_url, origin, credentials }, statusOf(sender, it))
  if (!request) {
    await settleStatus(db, { ...done, isSent: false, error: "the repository's address contains no owner and name" })
    return
  }
  const guard = guardOf(sender)
  // A host name is checked when it is resolved; an IP address is checked here.
  const literal = new URL(request.url).hostname.replace(/^\[|\]$/g, "")
  const refusal = /^[\d.]+$|:/.test(literal) ? guard(literal) : undefined
  const answer = refusal ? { error: refusal } : await callHost({ ...request, guard, timeoutMs: callMs, signal })
  if (signal.aborted) return
  // A host may answer with what it was sent.
  const reply = hideSecrets([credentials.token.reveal()])(refusal ?? answer.reply ?? "")
  await settle(sender, it, provider, refusal ? { status: 400, reply } : { ...answer, reply })
}

/** Git hosts in the operator's own network are common; the addresses of cloud credentials are always refused. */
const guardOf =
  ({ allowsLoopback }: StatusSender) =>
  (address: string): string | undefined => {
    const kind = addressKind(address)
    if (kind === "public" || kind === "private" || (kind === "loopback" && allowsLoopback)) return undefined
    return `${address} is not allowed as the address of a git host`
  }

function statusOf({ agentsUrl, apiUrl }: StatusSender, it: DueStatus): CommitStatus {
  // People follow it in a browser, which sends no key: to them the API and the agent would show a refusal.
  const page = `/deployments/${it.deployment_id}/revisions/${it.revision_id}?workspace=${it.workspace_id}`
  return {
    sha: it.sha,
    state: it.wanted,
    context: `superstep/${it.name}`,
    description: descriptionOf(it, publicUrl(agentsUrl, it.route_name)),
    targetUrl: withoutEnd(apiUrl, "/") + page,
  }
}

function descriptionOf({ wanted, status, error_code, status_message }: DueStatus, agent: string): string {
  if (wanted === "pending") return "The commit is being deployed"
  if (wanted === "success") return `Deployed at ${agent}`
  const [sentence = ""] = (status_message ?? "").split("\n")
  return [error_code ?? status.toLowerCase(), sentence].filter((part) => part !== "").join(": ")
}

async function settle(
  { db, log }: StatusSender,
  it: DueStatus,
  provider: Provider,
  { status, reply = "", error }: { status?: number; reply?: string; error?: string },
): Promise<void> {
  const done = { revisionId: it.revision_id, state: it.wanted }
  const verdict = verdictOn(provider, status, reply)
  if (verdict === "sent") {
    await settleStatus(db, { ...done, isSent: true, error: null })
    return
  }
  const why = status === undefined ? (error ?? "no answer") : `${status} ${reply.slice(0, 300)}`.trimEnd()
  const delayMs = verdict === "again" ? retryDelayMs(delaysMs, it.attempts, Math.random()) : undefined
  log.info({ revision_id: it.revision_id, host: it.host, why, delay_ms: delayMs }, "a commit status was refused")
  if (delayMs !== undefined) {
    await delayStatus(db, { ...done, delayMs, error: why })
    return
  }
  await db.transaction(async (tx) => {
    // In the pipeline's order of locks: first what belongs to the revision, last its status (by the trigger).
    const message = `${it.host} refused the status "${it.wanted}" of commit ${it.sha}: ${why}`
    await appendLogLines(tx, it.revision_id, "build", [{ message, level: "WARNING" }])
    await settleStatus(tx, { ...done, isSent: false, error: why })
  })
}

/**
 * Reports the status of commits to git hosts. The outbox `commit_statuses` keeps the newest state of each revision until the
 * host has accepted it: a kill loses none, and outdated states are not sent. A refusal by a host is logged in the revision's
 * build log and changes nothing else.
 */

import type { Secret } from "@superstep/toolkit/config/settings"
import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { hideSecrets } from "@superstep/toolkit/text/hide-secrets"
import { type StorableText, storableText } from "@superstep/toolkit/text/storable"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import { addressKind } from "@superstep/toolkit/webhooks/addresses"
import { type Outbox, OutboxLoop, usualTimeoutMs } from "@superstep/toolkit/webhooks/outbox-loop"
import { retryDelayMs } from "@superstep/toolkit/webhooks/retry"
import { type CallResult, callHost } from "@superstep/toolkit/webhooks/send"
import { publicUrl } from "../deployments/deployment.js"
import { credentialsOf } from "../integrations/operations.js"
import { leaveHostAlone } from "../integrations/queries.js"
import { appendLogLines } from "../logs/operations.js"
import { CannotOpen, type MasterKey } from "../secrets/seal.js"
import { type CommitStatus, isLimit, originOf, statusRequest, verdictOn } from "./commit-status.js"
import { type Provider, providerOfHost } from "./push.js"
import {
  type DueStatus,
  isStillTaken,
  nextStatusMs,
  settleStatus,
  statusChannel,
  takeDueStatuses,
} from "./status-queries.js"

export interface StatusSender {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
  /** The public address of agents. */
  readonly agentsUrl: string
  /** The public address of this API and of the console. */
  readonly apiUrl: string
  /** Whether a git host may be on this machine: only while the platform itself listens nowhere else. */
  readonly allowsLoopback: boolean
}

// Seven tries in all, the last a day after the first: after that nobody needs it any more.
const delaysMs = [5000, 30_000, 300_000, 1_800_000, 14_400_000, 64_800_000]

// What GitHub asks for after a limit without Retry-After.
const unsaidMs = 60_000

/** @returns  a loop that is not started yet */
export const createStatusLoop = (sender: StatusSender): OutboxLoop<DueStatus> =>
  new OutboxLoop({ db: sender.db, log: sender.log, outbox: statusOutbox(sender) })

export function statusOutbox(sender: StatusSender): Outbox<DueStatus> {
  const { db } = sender
  const underWay = new Set<string>()
  return {
    name: "commit statuses",
    channels: [statusChannel],
    take: (asked) => takeDueStatuses(db, { ...asked, underWay: [...underWay] }),
    ownerOf: ({ workspace_id }) => workspace_id,
    fieldsOf: ({ revision_id, host }) => ({ revision_id, host }),
    nextMs: () => nextStatusMs(db, [...underWay]),
    deliver: async (it, signal) => {
      underWay.add(it.revision_id)
      return send(sender, it, signal).finally(() => underWay.delete(it.revision_id))
    },
  }
}

// As much as is read of a reply.
const mostCharacters = 4096
const shown = (text: string): StorableText => storableText(text, mostCharacters)

/** @returns  whether something of the revision is to be sent later */
async function send(sender: StatusSender, it: DueStatus, signal: AbortSignal): Promise<boolean> {
  const { db, log } = sender
  const request = await requestOf(sender, it)
  // An integration that is used only for fetching, or whose token is gone.
  if ("problem" in request) return settleStatus(db, it, { isSent: false, error: shown(request.problem) })
  const result = await call(sender, request, signal)
  const { status, reply = "", error = "no answer" } = result
  const verdict = verdictOn(request.provider, status, reply)
  if (verdict === "sent") return settleStatus(db, it, { isSent: true, error: undefined })
  const askedMs = result.askedMs ?? (isLimit(status, reply) ? unsaidMs : undefined)
  // First: a kill after this line costs no call too many.
  if (askedMs !== undefined) await leaveHostAlone(db, { workspaceId: it.workspace_id, host: it.host, forMs: askedMs })
  const why = shown(status === undefined ? error : `${status} ${reply.slice(0, 300)}`.trimEnd())
  const isStopped = status === undefined && signal.aborted
  const delayMs = retryDelayMs(delaysMs, it.attempts, Math.random(), askedMs)
  const againMs = isStopped ? 0 : verdict === "again" ? delayMs : undefined
  const fields = { revision_id: it.revision_id, host: it.host, why }
  if (againMs !== undefined) {
    log.info({ ...fields, delay_ms: againMs }, "a commit status could not be sent and will be retried")
    return settleStatus(db, it, { isSent: false, againMs, askedMs, isStopped, error: why })
  }
  log.info(fields, "a commit status was refused")
  return db.transaction(async (tx) => {
    if (!(await isStillTaken(tx, it))) return false
    // In the pipeline's order of locks: first what belongs to the revision, last its status (by the trigger).
    const message = `${it.host} refused the status "${it.wanted}" of commit ${it.sha}: ${why}`
    await appendLogLines(tx, it.revision_id, "build", [{ message, level: "WARNING" }])
    return settleStatus(tx, it, { isSent: false, error: why, askedMs })
  })
}

interface StatusCall {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly token: Secret
  readonly provider: Provider
}

/** @returns  the request; or why there is none */
async function requestOf(sender: StatusSender, it: DueStatus): Promise<StatusCall | { readonly problem: string }> {
  const provider = it.provider ?? providerOfHost(it.host)
  const origin = originOf(it.repo_url, it.host)
  if (!provider || !origin) {
    const problem = "the provider of the host is unknown, or the repository is on another host than the integration"
    return { problem }
  }
  const ids = { workspaceId: it.workspace_id, integrationId: it.integration_id }
  const credentials = await credentialsOf(sender.db, sender.key, ids).catch((error: unknown) => {
    if (error instanceof CannotOpen) return undefined
    throw error
  })
  if (credentials?.kind !== "token") return { problem: "the integration has no token, or it cannot be decrypted" }
  const request = statusRequest(provider, { repoUrl: it.repo_url, origin, credentials }, statusOf(sender, it))
  return request
    ? { ...request, provider, token: credentials.token }
    : { problem: "the repository's address contains no owner and name" }
}

async function call(sender: StatusSender, { token, ...request }: StatusCall, signal: AbortSignal): Promise<CallResult> {
  const guard = guardOf(sender)
  // A host name is checked when it is resolved; an IP address is checked here.
  const literal = new URL(request.url).hostname.replace(/^\[|\]$/g, "")
  const refusal = /^[\d.]+$|:/.test(literal) ? guard(literal) : undefined
  if (refusal) return { status: 400, reply: shown(refusal) }
  const result = await callHost({ ...request, guard, timeoutMs: usualTimeoutMs, signal })
  // A host may answer with what it was sent.
  return { ...result, reply: shown(hideSecrets([token.reveal()])(result.reply ?? "")) }
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

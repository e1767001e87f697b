/**
 * Gets certificates for host names, and renews them (README.md, C1 to C6). An order under way when the process stops is
 * given up, and the name is due again at once.
 */

import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { type StorableText, storableText } from "@superstep/toolkit/text/storable"
import { OutboxLoop } from "@superstep/toolkit/webhooks/outbox-loop"
import type { Client } from "acme-client"
import { recordEvent } from "../events/operations.js"
import { wakeRoutes } from "../revisions/wake-up.js"
import { type MasterKey, open, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import type { Authority } from "./authority-settings.js"
import { factsOf, type IssuedCertificate, renewalTime, retryMs } from "./certificate.js"
import {
  accountKey,
  type DueName,
  nextDueMs,
  removeChallenges,
  returnTry,
  storeCertificate,
  storeChallenge,
  storeFailure,
  takeDueNames,
} from "./certificate-queries.js"
import { authorityClient, NotIssued, newPrivateKey, orderCertificate } from "./order.js"
import { hostNamesChannel } from "./queries.js"

export interface IssueOptions {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
  readonly authority: Authority
  /** Resolves when the edge has all stored challenges. */
  readonly publish: () => Promise<void>
  readonly crashPoint?: (name: string) => void
}

// An order takes seconds. One that takes longer, since the authority is slow, is given up after about a minute and a half.
const orderMs = 120_000
const mostFailureChars = 1000

/** @returns  a loop that is not started yet */
export function createIssueLoop(options: IssueOptions): OutboxLoop<DueName> {
  const { db, log } = options
  const account = accountOf(options)
  const outbox = {
    name: "certificates",
    channels: [hostNamesChannel],
    take: (asked: { limit: number; holdMs: number }) => takeDueNames(db, asked),
    nextMs: () => nextDueMs(db),
    deliver: (due: DueName, signal: AbortSignal) => issue(options, account, due, signal),
  }
  return new OutboxLoop({ db, log, outbox, timeoutMs: orderMs })
}

interface Account {
  client(stopping: AbortSignal): Promise<Client>
  /** After a failure: the next order asks for the account again, which the authority may have lost. */
  forget(): void
}

function accountOf({ db, key, authority }: IssueOptions): Account {
  let known: Promise<Client> | undefined
  const find = async (stopping: AbortSignal) => {
    const context = contextOf.acmeAccount(authority.directoryUrl)
    const sealed = await accountKey(db, authority.directoryUrl, seal(key, newPrivateKey(), context))
    return authorityClient(authority, open(key, sealed, context), stopping)
  }
  return {
    client: (stopping) => {
      known ??= find(stopping)
      return known
    },
    forget: () => {
      known = undefined
    },
  }
}

type Outcome = { readonly issued: IssuedCertificate } | { readonly failure: StorableText }

/** @returns  whether the name is due again soon */
async function issue(options: IssueOptions, account: Account, due: DueName, stopping: AbortSignal): Promise<boolean> {
  const outcome = await tryOrder(options, account, { due, stopping })
  const failure = "failure" in outcome ? outcome.failure : await keep(options, due, outcome.issued)
  if (failure === undefined) return true
  account.forget()
  if (stopping.aborted) await returnTry(options.db, due)
  else await noteFailure(options, due, failure)
  return true
}

async function tryOrder(
  { db, publish, crashPoint }: IssueOptions,
  account: Account,
  { due, stopping }: { readonly due: DueName; readonly stopping: AbortSignal },
): Promise<Outcome> {
  try {
    const client = await account.client(stopping)
    const issued = await orderCertificate(client, due.host_name, {
      stopping,
      publish: async ({ token, keyAuthorization }) => {
        const challenge = { token, key_authorization: keyAuthorization }
        const stored = await db.transaction((tx) => storeChallenge(tx, due, challenge))
        if (stored === 0) throw new NotIssued("the name was removed meanwhile")
        crashPoint?.("certificate:after-challenge")
        await publish()
      },
    })
    crashPoint?.("certificate:after-order")
    return { issued }
  } catch (error) {
    return { failure: reasonOf(error) }
  }
}

/** Stores a certificate, and wakes the edge's table. @returns  why it cannot be used */
async function keep(
  { db, key, log }: IssueOptions,
  due: DueName,
  issued: IssuedCertificate,
): Promise<StorableText | undefined> {
  const { host_name, deployment_id } = due
  let facts: ReturnType<typeof factsOf>
  try {
    facts = factsOf(issued, host_name, new Date())
  } catch (error) {
    return reasonOf(error)
  }
  const { chain, privateKey } = issued
  const renewAt = renewalTime(facts)
  const privateKeySealed = seal(key, privateKey, contextOf.hostName(host_name))
  await db.transaction(async (tx) => {
    const stored = await storeCertificate(tx, due, { chain, privateKeySealed, renewAt, ...facts })
    if (stored === 0) return
    await removeChallenges(tx, host_name)
    await wakeRoutes(tx)
    const wasActive = due.verified_at !== null && due.failure === null
    const data = { host_name, valid_until: facts.validUntil.toISOString() }
    if (!wasActive) await recordHostName(tx, due, "host_name.active", data)
  })
  log.info({ host_name, deployment_id, valid_until: facts.validUntil, renew_at: renewAt }, "certificate issued")
  return undefined
}

/** Events report the first failure of several, and log lines all of them. */
async function noteFailure({ db, log }: IssueOptions, due: DueName, failure: StorableText): Promise<void> {
  const { host_name, deployment_id, tries } = due
  const againMs = retryMs(tries)
  await db.transaction(async (tx) => {
    const stored = await storeFailure(tx, due, failure, againMs)
    if (stored === 0) return
    await removeChallenges(tx, host_name)
    await wakeRoutes(tx)
    if (due.failure === null) await recordHostName(tx, due, "host_name.failed", { host_name, failure })
  })
  log.warn(
    { host_name, deployment_id, tries, failure, again_ms: againMs },
    "no certificate was issued; it is tried again",
  )
}

function recordHostName(
  tx: Parameters<typeof recordEvent>[0],
  { workspace_id: workspaceId, deployment_id: deploymentId }: DueName,
  type: "host_name.active" | "host_name.failed",
  data: Record<string, unknown>,
) {
  return recordEvent(tx, { workspaceId, deploymentId, type, data })
}

/** The authority's words, for people. */
const reasonOf = (error: unknown): StorableText =>
  storableText(error instanceof Error ? error.message : String(error), mostFailureChars)

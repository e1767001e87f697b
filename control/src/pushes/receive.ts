/**
 * Receives deliveries of git hosts. The effect of a delivery is committed before it is answered, in one transaction with its
 * id: a control plane that dies after the answer has lost nothing, and one that dies before has done nothing.
 */
import type { Secret } from "@superstep/toolkit/config/settings"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { CannotOpen, type MasterKey } from "../secrets/seal.js"
import { buildPush, knowPush } from "./build-push.js"
import { decidePush, follows } from "./decide.js"
import { deliveryId, readDelivery } from "./delivery.js"
import { openSecrets } from "./operations.js"
import type { GitEvent, Outcome, Provider, PullRequestEvent, Push } from "./push.js"
import {
  type Authority,
  answeredDelivery,
  deploymentsOfAuthority,
  type GitDeployment,
  storeDeliveryReply,
  takeDelivery,
  webhooksOfProvider,
} from "./queries.js"
import { repositoryKey } from "./repository-key.js"
import { type Header, isProof, mayProve, presentedProof } from "./signature.js"

export interface Receiver {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
  /** The installation's own webhook secrets: none, one, or two while one is being replaced. */
  readonly webhookSecrets: readonly Secret[]
  /** How long after a push the branch is polled once more, in milliseconds; 0: never. */
  readonly lookMs: number
}

export interface DeliveryReply {
  readonly result: "accepted" | "ignored"
  readonly detail: string
  readonly deployments: readonly Outcome[]
}

/** Called for each event of a pull request. */
export type OnPullRequest = (
  tx: Db,
  deployments: readonly GitDeployment[],
  event: PullRequestEvent,
) => Promise<Outcome[]>

/** An incoming delivery: its headers, and its body, which is read only if they look valid. */
export interface Arrival {
  readonly provider: Provider
  readonly header: Header
  readonly readBody: () => Promise<Uint8Array>
}

/**
 * @param integrationId  when the address names one, only its secrets count
 * @throws Unauthenticated  no valid signature; if the headers show it, the body is not read (H1)
 * @throws InvalidInput     signed, but not in the format of this host
 */
export async function receive(
  receiver: Receiver,
  { provider, header, readBody }: Arrival,
  { integrationId, onPullRequest }: { integrationId: string | undefined; onPullRequest: OnPullRequest },
): Promise<{ status: number; body: DeliveryReply; isRepeated: boolean }> {
  const proof = presentedProof(provider, header)
  if (!proof) throw new Unauthenticated("the delivery is not signed: set the webhook's secret at the git host")
  const signers = await signersOf(receiver, { provider, proof }, integrationId)
  const delivery = { provider, header, body: await readBody() }
  const authority = authorityOf(signers, (secret) => isProof(provider, proof, secret, delivery.body))
  const events = readDelivery(delivery)
  const id = deliveryId(delivery)
  return receiver.db.transaction(async (tx) => {
    const key = id && { provider, authority: nameOf(authority), deliveryId: id }
    if (key) {
      if (!(await takeDelivery(tx, key))) {
        const earlier = await answeredDelivery(tx, key)
        return { status: 200, body: JSON.parse(earlier?.reply ?? "{}") as DeliveryReply, isRepeated: true }
      }
    }
    const body = await act(receiver, tx, { authority, events, onPullRequest })
    const status = body.result === "accepted" ? 202 : 200
    if (key) await storeDeliveryReply(tx, key, { status, text: JSON.stringify(body) })
    return { status, body, isRepeated: false }
  })
}

const nameOf = ({ integrationIds, isInstallation }: Authority): string =>
  [...(isInstallation ? ["installation"] : []), ...integrationIds].join(",")

/** Someone whose secret may have signed a delivery. */
interface Signer {
  /** Undefined: the operator of the installation. */
  readonly integrationId: string | undefined
  readonly secrets: readonly string[]
}

/** @throws Unauthenticated  none of our secrets can have produced this proof, whatever the body is */
async function signersOf(
  { db, key, log, webhookSecrets }: Receiver,
  { provider, proof }: { provider: Provider; proof: string },
  integrationId: string | undefined,
): Promise<Signer[]> {
  if (!mayProve(provider, proof)) throw wrongProof()
  const rows = await webhooksOfProvider(db, provider, integrationId)
  const integrations = rows.flatMap((row): Signer[] => {
    try {
      return [{ integrationId: row.integration_id, secrets: openSecrets(key, row) }]
    } catch (err) {
      if (!(err instanceof CannotOpen)) throw err
      log.warn({ err, integration_id: row.integration_id }, "the secret of a webhook cannot be opened")
      return []
    }
  })
  const own = webhookSecrets.map((secret) => secret.reveal())
  const signers =
    integrationId === undefined ? [...integrations, { integrationId: undefined, secrets: own }] : integrations
  const needsBody = provider !== "gitlab"
  const isPossible = (secret: string) => needsBody || isProof(provider, proof, secret, new Uint8Array())
  if (!signers.some(({ secrets }) => secrets.some(isPossible))) throw wrongProof()
  return signers
}

/** @throws Unauthenticated */
function authorityOf(signers: readonly Signer[], isSigned: (secret: string) => boolean): Authority {
  const found = signers.filter(({ secrets }) => secrets.some(isSigned))
  if (found.length === 0) throw wrongProof()
  const integrationIds = found.flatMap(({ integrationId }) => (integrationId === undefined ? [] : [integrationId]))
  return { integrationIds, isInstallation: integrationIds.length < found.length }
}

const wrongProof = () =>
  new Unauthenticated("the delivery's signature is wrong: the secret at the git host differs from the stored one")

async function act(
  receiver: Receiver,
  tx: Db,
  {
    authority,
    events,
    onPullRequest,
  }: { authority: Authority; events: readonly GitEvent[]; onPullRequest: OnPullRequest },
): Promise<DeliveryReply> {
  const known = await deploymentsOfAuthority(tx, authority)
  const outcomes: Outcome[] = []
  for (const event of events) {
    if (event.kind === "other") continue
    const deployments = ofRepository(known, event.repositories)
    if (event.kind === "pull_request") outcomes.push(...(await onPullRequest(tx, deployments, event)))
    else for (const it of deployments) outcomes.push(await push(receiver, tx, it, event))
  }
  return summary(events, outcomes)
}

function ofRepository(deployments: readonly GitDeployment[], addresses: readonly string[]): GitDeployment[] {
  const keys = new Set(addresses.map(repositoryKey))
  return deployments.filter(({ source_config: { repo_url: url } }) => {
    const key = url === null ? undefined : repositoryKey(url)
    return key !== undefined && keys.has(key)
  })
}

async function push({ key, lookMs }: Receiver, tx: Db, it: GitDeployment, event: Push): Promise<Outcome> {
  const { deployment_id, name } = it
  const decision = decidePush(it, event)
  if ("ignored" in decision) {
    await skipPush(tx, it, event, lookMs)
    return { deployment_id, name, result: "ignored", detail: decision.ignored, revision_id: null }
  }
  const known = { sha: decision.build, ref: event.ref, isWebhook: true, lookInMs: lookMs }
  const built = await buildPush(tx, key, it, { ...known, event })
  return { deployment_id, name, ...built }
}

/** Remembers a push that is not built: the next poll must not build it either. */
async function skipPush(tx: Db, it: GitDeployment, { ref, after }: Push, lookMs: number): Promise<void> {
  if (after === null || !follows(it, ref)) return
  await knowPush(tx, it, { sha: after, ref, isWebhook: true, lookInMs: lookMs })
}

function summary(events: readonly GitEvent[], deployments: readonly Outcome[]): DeliveryReply {
  const accepted = deployments.filter(({ result }) => result === "accepted").length
  if (accepted > 0) return { result: "accepted", detail: `${accepted} deployment(s) are being changed`, deployments }
  const other = events.find((event) => event.kind === "other")
  const detail =
    deployments.length > 0
      ? "no deployment is changed, for the reasons below"
      : other?.kind === "other"
        ? `${other.what} has no effect here`
        : "no deployment is built from this repository"
  return { result: "ignored", detail, deployments }
}

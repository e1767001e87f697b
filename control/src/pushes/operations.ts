/** The webhook settings of an integration: the kind of its host, and the secrets. */
import type { Db } from "@superstep/toolkit/db/database"
import { InvalidInput, NotFound } from "@superstep/toolkit/errors/errors"
import { integrationExists } from "../integrations/operations.js"
import { type MasterKey, open, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { type Provider, providerOfHost } from "./push.js"
import { removeWebhook, storeWebhook, type WebhookRow, webhookOf } from "./queries.js"

interface IntegrationIds {
  readonly workspaceId: string
  readonly integrationId: string
}

/**
 * Replaces the webhook settings of an integration. Up to two secrets are valid at once, so that one can be replaced.
 * @param provider  optional for well-known hosts
 * @throws NotFound
 * @throws InvalidInput  the provider of this host is unknown
 */
export async function setWebhook(
  tx: Db,
  key: MasterKey,
  ids: IntegrationIds,
  wanted: { provider: Provider | undefined; secrets: readonly string[] },
  host: string,
): Promise<WebhookRow> {
  if (!(await integrationExists(tx, ids.workspaceId, ids.integrationId))) throw notFound(ids)
  const provider = wanted.provider ?? providerOfHost(host)
  if (!provider) {
    const message = `is required: ${host} is not a well-known host; send github, gitlab, gitea or bitbucket`
    throw new InvalidInput([{ path: ["body", "provider"], message, type: "missing" }])
  }
  const secretsSealed = wanted.secrets.map((secret) => seal(key, secret, contextOf.inboundWebhook(ids)))
  await storeWebhook(tx, { integrationId: ids.integrationId, provider, secretsSealed })
  return findWebhook(tx, ids)
}

const notFound = ({ integrationId }: IntegrationIds) => new NotFound(`Integration ID ${integrationId} has no webhook.`)

/** @throws NotFound */
export async function findWebhook(db: Db, ids: IntegrationIds): Promise<WebhookRow> {
  const row = await webhookOf(db, ids.workspaceId, ids.integrationId)
  if (!row) throw notFound(ids)
  return row
}

/** @throws NotFound */
export async function removeWebhookSettings(db: Db, ids: IntegrationIds): Promise<void> {
  if ((await removeWebhook(db, ids.workspaceId, ids.integrationId)) === 0) throw notFound(ids)
}

/** @throws CannotOpen */
export const openSecrets = (key: MasterKey, row: WebhookRow): string[] =>
  row.secrets_sealed.map((sealed) =>
    open(key, sealed, contextOf.inboundWebhook({ workspaceId: row.workspace_id, integrationId: row.integration_id })),
  )

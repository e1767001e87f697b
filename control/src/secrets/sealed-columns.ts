/**
 * Every column with sealed values, and the context that authenticates each value. A change of the master key goes through
 * this list, so a new sealed column needs a line here (S8); a test compares it with the schema. Pure.
 */

type Context = readonly (string | number)[]

/** Where a value belongs: it opens only there (S1). */
export const contextOf = {
  secret: (it: { workspaceId: string; deploymentId: string }, name: string, version: number): Context => [
    "secret",
    it.workspaceId,
    it.deploymentId,
    name,
    version,
  ],
  previewSecret: (it: { workspaceId: string; deploymentId: string }, name: string): Context => [
    "preview-secret",
    it.workspaceId,
    it.deploymentId,
    name,
  ],
  integration: (workspaceId: string, integrationId: string): Context => ["integration", workspaceId, integrationId],
  // Verifies what git hosts send to us.
  inboundWebhook: (it: { workspaceId: string; integrationId: string }): Context => [
    "webhook",
    it.workspaceId,
    it.integrationId,
  ],
  // Signs what we send to others.
  outboundWebhook: (workspaceId: string, webhookId: string): Context => ["webhook", workspaceId, webhookId],
  database: (deploymentId: string): Context => ["database", deploymentId],
  unit: (unitId: string): Context => ["unit", unitId],
  hostName: (hostName: string): Context => ["host-name", hostName],
  acmeAccount: (directoryUrl: string): Context => ["acme-account", directoryUrl],
}

/** The values of a row's key columns, and its workspace where the table or its owner has one. */
export type KeyOfRow = Readonly<Record<string, unknown>>

export interface SealedColumn {
  readonly table: string
  readonly column: string
  /** The primary key's columns with their types. */
  readonly keys: Readonly<Record<string, "uuid" | "text" | "int4">>
  /** The table with the row's workspace, and the key column that refers to it. Without it the table has one itself, or none. */
  readonly owner?: { readonly table: string; readonly key: string }
  readonly hasWorkspace: boolean
  /** `text[]`: several values in one row, each sealed separately. */
  readonly isArray?: boolean
  readonly context: (row: KeyOfRow) => Context
}

const textOf = (row: KeyOfRow, name: string): string => String(row[name])
const deploymentOf = (row: KeyOfRow) => ({
  workspaceId: textOf(row, "workspace_id"),
  deploymentId: textOf(row, "deployment_id"),
})

export const sealedColumns: readonly SealedColumn[] = [
  {
    table: "secrets",
    column: "value_sealed",
    keys: { deployment_id: "uuid", secrets_version: "int4", name: "text" },
    owner: { table: "deployments", key: "deployment_id" },
    hasWorkspace: true,
    context: (row) => contextOf.secret(deploymentOf(row), textOf(row, "name"), Number(row.secrets_version)),
  },
  {
    table: "preview_secrets",
    column: "value_sealed",
    keys: { deployment_id: "uuid", name: "text" },
    owner: { table: "deployments", key: "deployment_id" },
    hasWorkspace: true,
    context: (row) => contextOf.previewSecret(deploymentOf(row), textOf(row, "name")),
  },
  {
    table: "integrations",
    column: "token_sealed",
    keys: { integration_id: "uuid" },
    hasWorkspace: true,
    context: (row) => contextOf.integration(textOf(row, "workspace_id"), textOf(row, "integration_id")),
  },
  {
    table: "integration_webhooks",
    column: "secrets_sealed",
    keys: { integration_id: "uuid" },
    owner: { table: "integrations", key: "integration_id" },
    hasWorkspace: true,
    isArray: true,
    context: (row) =>
      contextOf.inboundWebhook({
        workspaceId: textOf(row, "workspace_id"),
        integrationId: textOf(row, "integration_id"),
      }),
  },
  {
    table: "webhooks",
    column: "signing_secret_sealed",
    keys: { webhook_id: "uuid" },
    hasWorkspace: true,
    context: (row) => contextOf.outboundWebhook(textOf(row, "workspace_id"), textOf(row, "webhook_id")),
  },
  {
    table: "deployments",
    column: "database_password_sealed",
    keys: { deployment_id: "uuid" },
    hasWorkspace: false,
    context: (row) => contextOf.database(textOf(row, "deployment_id")),
  },
  {
    table: "units",
    column: "token_sealed",
    keys: { unit_id: "uuid" },
    hasWorkspace: false,
    context: (row) => contextOf.unit(textOf(row, "unit_id")),
  },
  {
    table: "host_names",
    column: "private_key_sealed",
    keys: { host_name: "text" },
    hasWorkspace: false,
    context: (row) => contextOf.hostName(textOf(row, "host_name")),
  },
  {
    table: "acme_accounts",
    column: "private_key_sealed",
    keys: { directory_url: "text" },
    hasWorkspace: false,
    context: (row) => contextOf.acmeAccount(textOf(row, "directory_url")),
  },
]

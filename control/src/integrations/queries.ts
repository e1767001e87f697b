/** The table `integrations`, each statement confined to a workspace. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Integration } from "./integration.js"

const columns = sql`integration_id, workspace_id, kind, name, host, auth, username, ssh_public_key, created_at, updated_at`

/** @returns undefined when the name is taken */
export const insertIntegration = (
  db: Db,
  it: {
    id: string
    workspaceId: string
    name: string
    host: string
    username: string | null
    sealed: string
    auth: Integration["auth"]
    sshPublicKey: string | null
    knownHosts: string | null
  },
): Promise<Integration | undefined> =>
  db.row(sql`
    insert into integrations
      (integration_id, workspace_id, kind, name, host, username, token_sealed, auth, ssh_public_key, known_hosts)
    values (${it.id}, ${it.workspaceId}, 'git', ${it.name}, ${it.host}, ${it.username}, ${it.sealed}, ${it.auth},
      ${it.sshPublicKey}, ${it.knownHosts})
    on conflict (workspace_id, name) do nothing
    returning ${columns}`)

export const integrationById = (db: Db, workspaceId: string, integrationId: string): Promise<Integration | undefined> =>
  db.row(sql`
    select ${columns} from integrations where workspace_id = ${workspaceId} and integration_id = ${integrationId}`)

export const integrationByName = (db: Db, workspaceId: string, name: string): Promise<Integration | undefined> =>
  db.row(sql`select ${columns} from integrations where workspace_id = ${workspaceId} and name = ${name}`)

export const integrationsOf = (
  db: Db,
  workspaceId: string,
  { limit, offset }: { limit: number | null; offset: number },
): Promise<Integration[]> =>
  db.rows(sql`
    select ${columns} from integrations where workspace_id = ${workspaceId}
    order by created_at desc, integration_id desc limit ${limit} offset ${offset}`)

export const countIntegrations = async (db: Db, workspaceId: string): Promise<number> => {
  const row = await db.row<{ total: number }>(sql`
    select count(*) as total from integrations where workspace_id = ${workspaceId}`)
  return row?.total ?? 0
}

/** @throws a foreign key violation while a deployment names it */
export const removeIntegration = (db: Db, workspaceId: string, integrationId: string): Promise<number> =>
  db.run(sql`delete from integrations where workspace_id = ${workspaceId} and integration_id = ${integrationId}`)

/** Prevents its deletion until the transaction that will refer to it has ended. */
export const holdIntegration = (tx: Db, workspaceId: string, integrationId: string): Promise<number> =>
  tx.run(sql`
    select 1 from integrations where workspace_id = ${workspaceId} and integration_id = ${integrationId} for key share`)

/** Keeps the host of an integration from being called by its workspace for so long. A shorter time changes nothing. */
export const leaveHostAlone = (
  db: Db,
  it: { readonly workspaceId: string; readonly host: string; readonly forMs: number },
): Promise<number> =>
  db.run(sql`
    update integrations set not_before = greatest(not_before, now() + ${it.forMs} * interval '1 millisecond')
    where workspace_id = ${it.workspaceId} and host = ${it.host}`)

export interface SealedCredentials {
  readonly host: string
  readonly auth: Integration["auth"]
  readonly username: string | null
  readonly token_sealed: string
  readonly known_hosts: string | null
}

export const sealedCredentials = (
  db: Db,
  workspaceId: string,
  integrationId: string,
): Promise<SealedCredentials | undefined> =>
  db.row(sql`
    select host, auth, username, token_sealed, known_hosts from integrations
    where workspace_id = ${workspaceId} and integration_id = ${integrationId}`)

/** Mirrors one of the control plane. Its name is taken when another integration was deleted at the control plane, and its name given to this one. */
export const saveIntegration = (
  tx: Db,
  workspaceId: string,
  it: {
    readonly integration_id: string
    readonly name: string
    readonly host: string
    readonly auth: "token" | "ssh_key"
    readonly username: string | null
    /** The token or the private key. */
    readonly sealed: string
    readonly ssh_public_key: string | null
    readonly known_hosts: string | null
  },
): Promise<number> =>
  tx.run(sql`
    insert into integrations
      (integration_id, workspace_id, kind, name, host, username, token_sealed, auth, ssh_public_key, known_hosts)
    values (${it.integration_id}, ${workspaceId}, 'git', case when exists (select from integrations o
        where o.workspace_id = ${workspaceId} and o.name = ${it.name} and o.integration_id <> ${it.integration_id})
      then ${`${it.name}-${it.integration_id.slice(-12)}`} else ${it.name} end,
      ${it.host}, ${it.username}, ${it.sealed}, ${it.auth}, ${it.ssh_public_key}, ${it.known_hosts})
    on conflict (integration_id) do update set host = excluded.host, username = excluded.username,
      token_sealed = excluded.token_sealed, auth = excluded.auth, ssh_public_key = excluded.ssh_public_key,
      known_hosts = excluded.known_hosts, updated_at = now()
    where integrations.workspace_id = excluded.workspace_id`)

/**
 * Databases and the roles that own them, on an embedded server or any other. A database and its role have the same name;
 * the role may connect to no other database. All functions may be repeated after a kill half way.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto"
import pg from "pg"
import { KnownError } from "../errors/errors.js"
import { isSqlState, sqlState } from "./database.js"
import { changeUri } from "./database-uri.js"
import { identifier } from "./sql.js"
import { asUnavailable } from "./unavailable.js"
import { withClient } from "./with-client.js"

export class MissingPrivilege extends KnownError {
  readonly code = "missing_privilege"
}

export interface DatabaseOwner {
  /** ASCII; the server gets only its SCRAM verifier, so it appears in no statement log. */
  readonly password: string
  /** Most sessions of the role at a time; default no limit. */
  readonly connectionLimit?: number
}

/**
 * Creates a database, and with `owner` a role of the same name that owns it and nothing else; then no other role except
 * superusers may connect to it. Existing ones are kept, and their password and limit are updated.
 * @param adminUri  a role that may create databases, and roles when there is an owner
 * @returns         the connection string for the database, the owner's if there is one
 * @throws MissingPrivilege  naming what the admin's role lacks
 */
export async function createDatabase({
  adminUri,
  name,
  owner,
}: {
  adminUri: string
  name: string
  owner?: DatabaseOwner
}): Promise<string> {
  await asAdmin(adminUri, async (client) => {
    await takeTurns(client, name)
    if (owner) await ensureRole(client, name, owner)
    await ensureDatabase(client, name, owner !== undefined)
  })
  return changeUri(adminUri, { database: name, ...(owner && { user: name, password: owner.password }) })
}

/**
 * From now on only the owner of this database, superusers and roles with a grant may connect to it. A database that somebody
 * created by hand is open to all roles of its server, including those of deployments, which could hold its locks.
 * @param uri  of the database; without effect when its role does not own it
 */
export async function restrictToOwner(uri: string): Promise<void> {
  await withClient(uri, async (client) => {
    const { rows } = await client.query<{ name: string }>("select current_database() as name")
    for (const { name } of rows) {
      await takeTurns(client, name)
      await client.query(revokeFromPublic(name))
    }
  })
}

const revokeFromPublic = (name: string): string => `revoke connect, temporary on database ${quoted(name)} from public`

/** Ends all sessions of a database, then drops it and the role of its name. Missing ones are ignored. */
export async function dropDatabase({ adminUri, name }: { adminUri: string; name: string }): Promise<void> {
  await asAdmin(adminUri, async (client) => {
    await takeTurns(client, name)
    await client.query(`drop database if exists ${quoted(name)} with (force)`)
    await client.query(`drop role if exists ${quoted(name)}`)
  })
}

/** Sets how many sessions a role may have at a time. A missing role is ignored: its database is being deleted. */
export async function limitConnections({
  adminUri,
  name,
  limit,
}: {
  adminUri: string
  name: string
  limit: number
}): Promise<void> {
  await asAdmin(adminUri, async (client) => {
    await takeTurns(client, name)
    const change = () => client.query(`alter role ${quoted(name)} connection limit ${Math.trunc(limit)}`)
    await client.query(`set lock_timeout = ${lockMs}`)
    await change()
      .catch(async (error: unknown) => {
        if (!isSqlState(error, lockNotAvailable)) throw error
        await endSessionsThatLock(client, name)
        await change()
      })
      .catch(ignoring(sqlState.undefinedObject))
  })
}

// A change of a role takes milliseconds, and waits for others only while somebody holds its row.
const lockMs = 2000
const lockNotAvailable = "55P03"

/** A role may change its own password in a transaction that it never ends, so nobody else could change the role, or drop it. */
async function endSessionsThatLock(client: pg.Client, name: string): Promise<void> {
  await client.query(
    `select pg_terminate_backend(a.pid) from pg_stat_activity a
     where a.usename = $1 and exists (
       select from pg_locks l where l.pid = a.pid and l.mode = 'RowExclusiveLock' and l.relation = 'pg_authid'::regclass)`,
    [name],
  )
}

// Any constant of our own. Two concurrent changes of one role would fail with "tuple concurrently updated".
const provisionLock = 7_283_115

/** Waits until nobody else works on the database of this name; the end of the session releases the lock. */
async function takeTurns(client: pg.Client, name: string): Promise<void> {
  await client.query("select pg_advisory_lock($1, hashtext($2))", [provisionLock, name])
}

async function ensureRole(client: pg.Client, name: string, owner: DatabaseOwner): Promise<void> {
  const role = quoted(name)
  await client.query(`create role ${role}`).catch(ignoring(sqlState.duplicateObject))
  const password = pg.escapeLiteral(scramVerifier(owner.password))
  await client.query(`alter role ${role} login password ${password} connection limit ${owner.connectionLimit ?? -1}`)
  // A superuser may give a database to any role, other roles only to one that they are members of.
  await client.query(`grant ${role} to current_user`)
}

async function ensureDatabase(client: pg.Client, name: string, isOwned: boolean): Promise<void> {
  const database = quoted(name)
  await client
    .query(`create database ${database} ${isOwned ? `owner ${database}` : ""}`)
    .catch(ignoring(sqlState.duplicateDatabase))
  if (isOwned) await client.query(revokeFromPublic(name))
}

/** @throws MissingPrivilege | DatabaseUnavailable  when the admin's role may not do the work */
async function asAdmin(uri: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  try {
    await withClient(uri, work)
  } catch (cause) {
    if (!isSqlState(cause, sqlState.insufficientPrivilege)) throw asUnavailable(cause)
    throw new MissingPrivilege(`the database role may not do this (${(cause as Error).message})`, { cause })
  }
}

const quoted = (name: string): string => identifier(name).render().text

const ignoring = (state: string) => (error: unknown) => {
  if (!isSqlState(error, state)) throw error
}

/**
 * The form in which Postgres stores a password, computed here as `psql \\password` does, so that the password itself is
 * never part of a statement.
 * @see  RFC 5803, and `src/common/scram-common.c` of Postgres
 */
function scramVerifier(password: string): string {
  const [iterations, salt] = [4096, randomBytes(16)]
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256")
  const key = (label: string) => createHmac("sha256", salted).update(label).digest()
  const stored = createHash("sha256").update(key("Client Key")).digest("base64")
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${stored}:${key("Server Key").toString("base64")}`
}

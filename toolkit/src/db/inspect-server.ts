/** Checks the version and the abilities of a Postgres server once, at the start. */
import type pg from "pg"
import { KnownError } from "../errors/errors.js"
import { MissingPrivilege } from "./provision.js"
import { identifier } from "./sql.js"
import { withClient } from "./with-client.js"

/** The server is too old, or it is a pooler that shares sessions among transactions. */
export class UnsupportedServer extends KnownError {
  readonly code = "unsupported_server"
}

export interface ServerFacts {
  /** Such as 17. */
  readonly majorVersion: number
  /** Most connections of ordinary roles, all together. */
  readonly mostConnections: number
}

// The oldest version that is still maintained; none of our statements needs a newer one.
export const oldestMajor = 15

/**
 * @param uri  for a role that will create databases and roles
 * @throws UnsupportedServer  naming what it is and what is needed
 * @throws MissingPrivilege   with the statement that grants what the role lacks
 */
export async function inspectServer(uri: string): Promise<ServerFacts> {
  const facts = await factsOf(uri)
  if (!facts.may_provision) throw new MissingPrivilege(privilegeWords(facts.role))
  return { majorVersion: facts.major, mostConnections: facts.connections }
}

/**
 * For a program that uses one database and creates none.
 * @throws UnsupportedServer  naming what it is and what is needed
 */
export async function refuseUnsupportedServer(uri: string): Promise<void> {
  await factsOf(uri)
}

async function factsOf(uri: string): Promise<Facts> {
  return withClient(uri, async (client) => {
    await refusePooler(uri, client)
    const { rows } = await client.query<Facts>(factsQuery)
    const [facts] = rows
    if (!facts) throw new Error("a query without a table returned no row")
    if (facts.major < oldestMajor) {
      const advice = `use ${oldestMajor} or newer, or unset DATABASE_URI to use the embedded one`
      throw new UnsupportedServer(`the database server is Postgres ${facts.major}: ${advice}`)
    }
    return facts
  })
}

interface Facts {
  readonly major: number
  readonly connections: number
  readonly role: string
  readonly may_provision: boolean
}

// `reserved_connections` is new in 16.
const factsQuery = `
  select current_setting('server_version_num')::int / 10000 as major,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0) as connections,
    rolname as role, rolsuper or (rolcreatedb and rolcreaterole) as may_provision
  from pg_roles where rolname = current_user`

// More than one, since other clients of a busy pooler may get a server process between two questions.
const rounds = 5

async function refusePooler(uri: string, first: pg.Client): Promise<void> {
  const answers = await withClient(uri, async (second) => {
    const pairs: [number, number][] = []
    for (let round = 0; round < rounds; round++) {
      // The first twice: a pooler that gives its two sessions to each transaction in turn would else give each of us its own.
      const own = [await backendOf(first), await backendOf(first)]
      const other = await backendOf(second)
      for (const pid of own) pairs.push([pid, other])
    }
    return pairs
  })
  if (!sharesSessions(answers)) return
  throw new UnsupportedServer(
    "DATABASE_URI is the address of a pooler that shares sessions (such as PgBouncer with pool_mode = transaction): LISTEN and " +
      "advisory locks do not work through it. Use the server itself, or a pool with pool_mode = session",
  )
}

/**
 * Two sessions that are open at the same time have different server processes, and each keeps its own. A pooler that assigns any
 * free one to each transaction (PgBouncer's pool_mode transaction or statement) shows the same one in both, or changes it. Behind
 * it, LISTEN receives nothing and advisory locks belong to other sessions. Pure.
 * @param answers  the process ids of both sessions, asked several times in turn
 */
export function sharesSessions(answers: readonly (readonly [number, number])[]): boolean {
  const [own, other] = [0, 1].map((session) => new Set(answers.map((pair) => pair[session])))
  return own?.size !== 1 || other?.size !== 1 || answers.some(([one, two]) => one === two)
}

async function backendOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid")
  return rows[0]?.pid ?? 0
}

function privilegeWords(role: string): string {
  const name = identifier(role).render().text
  return (
    `the database role ${name} may not create databases and roles, and each deployment needs its own. As a superuser, run: ` +
    `alter role ${name} createdb createrole; or create a role for Superstep: ` +
    "create role superstep login createdb createrole password '…'; create database superstep owner superstep;"
  )
}

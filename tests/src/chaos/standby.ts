/** An asynchronous standby of a test's Postgres: what it was not sent before its promotion is lost. */
import { appendFile, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { databaseUri } from "@superstep/toolkit/db/database-uri"
import { withClient } from "@superstep/toolkit/db/with-client"
import { createLog } from "@superstep/toolkit/log/log"
import { copyCluster, placeCluster } from "@superstep/toolkit/postgres/base-backup"
import { socketFolderOf } from "@superstep/toolkit/postgres/folders"
import { type RunningPostgres, startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { postgresProxy } from "@superstep/toolkit/testing/postgres-proxy"
import { until } from "@superstep/toolkit/testing/until"

export interface Standby extends AsyncDisposable {
  /** From now on nothing that the primary writes arrives. */
  fallBehind(): void
  /** Makes it the primary. The old one must be dead. */
  promote(): Promise<RunningPostgres>
}

/**
 * Copies a running cluster and follows it, until it has all that the primary has written by now.
 * @param primary  the folder of the primary, whose Postgres runs
 * @param folder   of the standby; created
 */
export async function addStandby(
  { folder: primary, postgres }: { folder: string; postgres: RunningPostgres },
  folder: string,
): Promise<Standby> {
  await appendFile(join(primary, "data", "pg_hba.conf"), "local replication postgres scram-sha-256\n")
  await withClient(postgres.superuserUri, (client) => client.query("select pg_reload_conf()"))
  const copy = `${folder}-copy`
  await copyCluster({ folder: primary, superuserUri: postgres.superuserUri, to: copy })
  const way = await postgresProxy(postgres.superuserUri)
  const { hostname, port, password } = new URL(way.uri)
  const primaryAt = `host=${hostname} port=${port} user=postgres password=${password} sslmode=disable gssencmode=disable`
  await appendFile(join(copy, "data", "postgresql.auto.conf"), `primary_conninfo = '${primaryAt}'\n`)
  await writeFile(join(copy, "data", "standby.signal"), "")
  await placeCluster(copy, folder)
  // It is "ready", as `startPostgres` waits for, only once it was promoted.
  const promoted = startPostgres({
    folder,
    log: createLog({ process: "standby", level: "silent" }),
    stopWithParent: true,
  })
  // `promote` returns it, with its error.
  promoted.catch(() => undefined)
  const superuserUri = databaseUri({
    host: await socketFolderOf(folder),
    user: "postgres",
    password: await readFile(join(folder, "password"), "utf8"),
    database: "postgres",
  })
  const [written] = await withClient(postgres.superuserUri, async (client) => {
    const { rows } = await client.query<{ lsn: string }>("select pg_current_wal_lsn() as lsn")
    return rows
  })
  const hasFollowed = () =>
    withClient(superuserUri, async (client) => {
      const { rows } = await client.query("select pg_last_wal_replay_lsn() >= $1::pg_lsn as ok", [written?.lsn])
      return rows[0]?.ok === true
    }).catch(() => false)
  await until(hasFollowed, { what: "the standby has followed", timeoutMs: 60_000 })
  return {
    fallBehind: () => way.cut("silence"),
    promote: async () => {
      way.cut("reset")
      await withClient(superuserUri, (client) => client.query("select pg_promote(true, 60)"))
      return promoted
    },
    [Symbol.asyncDispose]: async () => {
      await way[Symbol.asyncDispose]()
      // Before its promotion nobody else can stop it.
      await withClient(superuserUri, (client) => client.query("select pg_promote(true, 60)")).catch(() => undefined)
      await promoted.then((own) => own.stop())
    },
  }
}

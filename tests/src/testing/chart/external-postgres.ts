/** A Postgres that is no part of the platform, with a role that has no more rights than docs/kubernetes.md asks for. */
import { createDatabase } from "@superstep/toolkit/db/provision"
import { withClient } from "@superstep/toolkit/db/with-client"
import { startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { silent } from "@superstep/toolkit/testing/test-cluster"

export interface ExternalPostgres {
  /** Of the platform's database, as that role. */
  readonly uri: string
  stop(): Promise<void>
}

export async function startExternalPostgres(): Promise<ExternalPostgres> {
  const folder = await preparedCluster()
  const { superuserUri, stop } = await startPostgres({ folder, log: silent, stopWithParent: true, isDisposable: true })
  const owner = { password: "password-of-the-platform" }
  const uri = await createDatabase({ adminUri: superuserUri, name: "superstep", owner })
  await withClient(superuserUri, (client) => client.query("alter role superstep createdb createrole"))
  return { uri, stop }
}

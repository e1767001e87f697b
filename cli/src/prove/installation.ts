/** What is attacked: a Postgres of its own and two agent servers with the user's project, all below one temporary folder. */
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { removeCluster } from "@superstep/toolkit/postgres/remove-cluster"
import { type PostgresProxy, postgresProxy } from "@superstep/toolkit/testing/postgres-proxy"
import { agentEnvironment } from "../project/agent-server.js"
import type { Project } from "../project/project.js"
import { KillablePostgres } from "./killable-postgres.js"
import { KillableServer } from "./killable-server.js"

/** Short, so that other servers take over within the minutes of a proof. */
export const leaseSeconds = 5

export interface Installation extends AsyncDisposable {
  /** For logs. */
  readonly folder: string
  readonly servers: readonly KillableServer[]
  readonly postgres: KillablePostgres
  /** The servers' way to Postgres. */
  readonly network: PostgresProxy
  /** Starts what does not run, and waits until both servers have loaded the graphs. */
  untilWhole(): Promise<void>
}

// Of the user's settings: those that belong to another server, or keep clients out.
const notTaken =
  /^(PORT|MOUNT_PREFIX|npm_.*|SUPERSTEP_(API_KEYS|UNIT_TOKEN|SERVER_ID|REVISION_ID|DEV|RELOAD|SETTINGS_FILE|MAX_.*))$/

export interface InstallationOptions {
  readonly project: Project
  readonly environment: Readonly<Record<string, string>>
  /** Ends the start early. */
  readonly signal: AbortSignal
}

/** @throws ServerEnded  a graph does not load @throws AbortError  it was ended early */
export async function startInstallation({ project, environment, signal }: InstallationOptions): Promise<Installation> {
  const folder = await mkdtemp(join(tmpdir(), "superstep-prove-"))
  // As root Postgres runs as another user.
  await chmod(folder, 0o755)
  const cluster = join(folder, "postgres")
  const postgres = new KillablePostgres(cluster, { isDisposable: true })
  const servers: KillableServer[] = []
  let network: PostgresProxy | undefined
  const stop = async () => {
    await Promise.all(servers.map((server) => server.kill()))
    await network?.[Symbol.asyncDispose]()
    await postgres.stop()
    await removeCluster(cluster)
    await rm(folder, { recursive: true, force: true })
  }
  const untilWhole = async ({ restarts }: { restarts?: number } = {}) => {
    signal.throwIfAborted()
    await postgres.start()
    for (const server of servers) server.start()
    await Promise.all(
      servers.map((server) => server.untilReady({ signal, ...(restarts !== undefined && { restarts }) })),
    )
  }
  try {
    const { superuserUri } = await postgres.start()
    network = await postgresProxy(await createDatabase({ adminUri: superuserUri, name: "prove" }))
    // What a killed server and its workers leave behind is removed with the rest. Short: paths of sockets have a limit.
    const TMPDIR = join(folder, "t")
    await mkdir(TMPDIR)
    const env = {
      ...Object.fromEntries(Object.entries(environment).filter(([name]) => !notTaken.test(name))),
      TMPDIR,
      SUPERSTEP_AGENT_ENV: JSON.stringify({ ...agentEnvironment(environment), TMPDIR }),
      SUPERSTEP_CONFIG: project.configPath,
      DATABASE_URI: network.uri,
      SUPERSTEP_LEASE_SECONDS: String(leaseSeconds),
      // A server that is asked to stop hands its runs back.
      BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "1",
      // Its lines say when it is ready, and which rule is broken.
      LOG_LEVEL: "info",
    }
    for (const name of ["server-1", "server-2"])
      servers.push(await KillableServer.create({ name, folder, env, cwd: project.folder }))
    await untilWhole({ restarts: 0 })
    return { folder, servers, postgres, network, untilWhole: () => untilWhole(), [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A Postgres that is killed and started again on what is on the disk. */
import { createLog } from "@superstep/toolkit/log/log"
import { type PostgresOptions, type RunningPostgres, startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { childrenOf, killAll, send } from "@superstep/toolkit/testing/processes"

const silent = createLog({ process: "postgres", level: "silent" })

export class KillablePostgres {
  readonly #options: PostgresOptions
  #running: RunningPostgres | undefined

  /** It is not started yet, and stops when this process dies. @param folder  for the cluster, or with one */
  constructor(folder: string, options: Pick<PostgresOptions, "isDisposable"> = {}) {
    this.#options = { folder, log: silent, stopWithParent: true, ...options }
  }

  /** @returns undefined while it is killed */
  get running(): RunningPostgres | undefined {
    return this.#running
  }

  /** Starts it unless it runs. */
  async start(): Promise<RunningPostgres> {
    this.#running ??= await startPostgres(this.#options)
    return this.#running
  }

  /** Kills the postmaster and all its sessions, and waits until they are gone. */
  async kill(): Promise<void> {
    if (!this.#running) return
    const { pid } = this.#running
    this.#running = undefined
    // A stopped postmaster starts no session between the look at its children and their end: one that lived on would keep the next from starting.
    send(pid, "SIGSTOP")
    await killAll([pid, ...childrenOf(pid)])
  }

  /** From now on this one is killed and started, such as a standby that was promoted. */
  replace(running: RunningPostgres): void {
    this.#running = running
  }

  async stop(): Promise<void> {
    await this.#running?.stop()
  }
}

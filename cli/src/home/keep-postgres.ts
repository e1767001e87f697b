/**
 * Keeps the embedded Postgres running: when it exits unexpectedly it is restarted, with all acknowledged data. It is no
 * child of ours (it may have been adopted), so its process is polled, twice a second.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { identify, isAlive } from "@superstep/toolkit/exec/process-identity"
import type { Log } from "@superstep/toolkit/log/log"
import { type RunningPostgres, startPostgres } from "@superstep/toolkit/postgres/start-postgres"

const lookMs = 500
const retryMs = 2_000

export interface KeptPostgres {
  /** The present one. */
  readonly postgres: () => RunningPostgres
  stop(): Promise<void>
  /** Stops supervising it. It keeps running, for the next program on the folder. */
  leave(): Promise<void>
  /** Kills it at once, and does not restart it. */
  kill(): void
}

export interface KeepOptions {
  readonly folder: string
  readonly stopWithParent: boolean
  readonly log: Log
  /** Called each time that it exited unexpectedly. */
  readonly onEnd: () => void
}

export async function keepPostgres({ onEnd, ...options }: KeepOptions): Promise<KeptPostgres> {
  const { log } = options
  let postgres = await startPostgres(options)
  const stopping = new AbortController()
  const { signal } = stopping

  const untilEnded = async () => {
    const identity = await identify(postgres.pid)
    // The poll keeps no program alive: a command that used the Postgres of a running installation exits after its work.
    while (identity && (await isAlive(identity))) await sleep(lookMs, undefined, { signal, ref: false })
  }
  const keep = async () => {
    while (!signal.aborted) {
      await untilEnded()
      log.warn({ pid: postgres.pid }, "Postgres exited unexpectedly and is being restarted")
      onEnd()
      try {
        postgres = await startPostgres(options)
      } catch (err) {
        log.error({ err }, "Postgres could not be restarted; retrying")
        await sleep(retryMs, undefined, { signal })
      }
    }
  }
  const kept = keep().catch((error: unknown) => {
    // The stop aborts the sleep that it was in.
    if (!signal.aborted) throw error
  })
  const leave = async () => {
    stopping.abort()
    await kept
  }
  return {
    postgres: () => postgres,
    stop: async () => {
      await leave()
      await postgres.stop()
    },
    leave,
    kill: () => {
      stopping.abort()
      killPostgres(postgres.pid)
    },
  }
}

/** SIGQUIT is Postgres' immediate shutdown: it also ends its sessions, which SIGKILL would leave behind. */
function killPostgres(pid: number): void {
  try {
    process.kill(pid, "SIGQUIT")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

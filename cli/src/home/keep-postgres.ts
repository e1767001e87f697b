/**
 * Keeps the embedded Postgres running: when it ends by itself it is started again, and what it had acknowledged is there.
 * It is no child of ours (it may have been adopted), so its process is looked at, twice a second.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { identify, isAlive } from "@superstep/toolkit/exec/process-identity"
import type { Log } from "@superstep/toolkit/log/log"
import { type RunningPostgres, startPostgres } from "@superstep/toolkit/postgres/start-postgres"

const lookMs = 500
const retryMs = 2_000

export interface KeptPostgres {
  /** The one that runs at this moment. */
  readonly postgres: () => RunningPostgres
  stop(): Promise<void>
  /** Looks after it no more. It goes on, for the next program on the folder. */
  leave(): Promise<void>
  /** Ends it at once, and does not start it again. */
  kill(): void
}

export interface KeepOptions {
  readonly folder: string
  readonly stopWithParent: boolean
  readonly log: Log
  /** Told each time that it ended by itself. */
  readonly onEnd: () => void
}

export async function keepPostgres({ onEnd, ...options }: KeepOptions): Promise<KeptPostgres> {
  const { log } = options
  let postgres = await startPostgres(options)
  const stopping = new AbortController()
  const { signal } = stopping

  const untilEnded = async () => {
    const identity = await identify(postgres.pid)
    // The look holds no program back: a command that used the Postgres of a running installation ends with its work.
    while (identity && (await isAlive(identity))) await sleep(lookMs, undefined, { signal, ref: false })
  }
  const keep = async () => {
    while (!signal.aborted) {
      await untilEnded()
      log.warn({ pid: postgres.pid }, "Postgres ended and is started again")
      onEnd()
      try {
        postgres = await startPostgres(options)
      } catch (err) {
        log.error({ err }, "Postgres cannot be started again yet")
        await sleep(retryMs, undefined, { signal })
      }
    }
  }
  const kept = keep().catch((error: unknown) => {
    // The stop ends the sleep that it was in.
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

/** SIGQUIT is Postgres' immediate shutdown: it ends its sessions too, which SIGKILL would leave behind. */
function killPostgres(pid: number): void {
  try {
    process.kill(pid, "SIGQUIT")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

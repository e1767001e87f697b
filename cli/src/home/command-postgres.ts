/**
 * The embedded Postgres of a data folder, for one command. Who owns the folder starts and stops it: while another program is the owner, a
 * command uses the Postgres of that one, and otherwise it is the owner itself.
 */
import { setTimeout as sleep } from "node:timers/promises"
import {
  findPostgres,
  PostgresFailed,
  type RunningPostgres,
  startPostgres,
} from "@superstep/toolkit/postgres/start-postgres"
import type { Home } from "./home.js"
import { takeOwnership } from "./owner.js"
import { livingEntry } from "./owner-file.js"

const pollMs = 50
// An owner starts Postgres first, after it has looked at its ports.
const ownerStartMs = 60_000

/**
 * Runs `work` with the Postgres of the program that runs on the folder; otherwise with one that is started temporarily, and nobody else can
 * start on the folder meanwhile.
 * @param alone  refuse while a program runs
 * @throws AlreadyRunning  `alone` is set, and a program runs
 * @throws PostgresFailed  the program that runs has no Postgres, as with DATABASE_URI
 */
export async function withHomePostgres<T>(
  { home, command, alone = false }: { home: Home; command: string; alone?: boolean },
  work: (postgres: RunningPostgres) => Promise<T>,
): Promise<T> {
  const running = alone ? undefined : await postgresOfOwner(home)
  if (running) return work(running)
  await using _ownership = await takeOwnership(home, command)
  const postgres = await startPostgres({ folder: home.postgres, log: home.log, stopWithParent: true })
  try {
    return await work(postgres)
  } finally {
    // Agents that outlived a killed `superstep up` use the one that ran already.
    if (!postgres.adopted) await postgres.stop()
  }
}

/** Waits until it runs. @returns  undefined when no program runs on the folder (any more) */
async function postgresOfOwner({ owner, postgres: folder, log }: Home): Promise<RunningPostgres | undefined> {
  const startedAt = performance.now()
  for (;;) {
    const program = await livingEntry(owner)
    if (!program) return undefined
    const postgres = await findPostgres({ folder, log })
    if (postgres) return postgres
    if (program.place?.database === "DATABASE_URI" || performance.now() - startedAt > ownerStartMs)
      throw new PostgresFailed(
        `${program.command} (process ${program.owner.pid}) runs without the Postgres in ${folder}: if it uses DATABASE_URI, set the same one here`,
      )
    await sleep(pollMs)
  }
}

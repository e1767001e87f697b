/** The Postgres of a data folder: the embedded one, or the server that DATABASE_URI names. */
import { createDatabase } from "@superstep/toolkit/db/provision"
import type { Config } from "../command-line/config.js"
import type { Home } from "./home.js"
import { keepPostgres } from "./keep-postgres.js"

export interface HomeDatabase {
  readonly uri: string
  /** False when the server is the user's own, or another program had started it. */
  readonly isOurs: boolean
  /** Its description for messages. */
  readonly words: string
  /** Stops the embedded Postgres; does nothing for a server of the user's own. */
  stop(): Promise<void>
  /** Stops supervising it; it keeps running. */
  leave(): Promise<void>
  /** Kills the embedded Postgres at once; acknowledged data is there at the next start. */
  kill(): void
}

/**
 * @param name          database to create if it is missing; the user's own server is used as its address says
 * @param stopWithParent  whether a kill of this program also stops Postgres (Linux)
 */
export async function startHomeDatabase({
  home,
  config,
  name,
  stopWithParent = false,
  onEnd = () => undefined,
}: {
  home: Home
  config: Config
  name: string
  stopWithParent?: boolean
  /** Called when Postgres exited unexpectedly; it is being restarted. */
  onEnd?: () => void
}): Promise<HomeDatabase> {
  if (config.databaseUri) {
    return {
      uri: config.databaseUri.reveal(),
      isOurs: false,
      words: "Postgres at DATABASE_URI",
      stop: async () => undefined,
      leave: async () => undefined,
      kill: () => undefined,
    }
  }
  const kept = await keepPostgres({ folder: home.postgres, log: home.log, stopWithParent, onEnd })
  const { superuserUri, adopted } = kept.postgres()
  const uri = await createDatabase({ adminUri: superuserUri, name })
  return {
    uri,
    isOurs: !adopted,
    words: "Postgres",
    stop: () => kept.stop(),
    leave: () => kept.leave(),
    kill: () => kept.kill(),
  }
}

/** `superstep backup` and `restore`: the whole installation as one file. */
import { resolve } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import type { CliCommand } from "../command.js"
import type { Config } from "../config.js"
import { backUp, NoBackup, restore } from "../home/archive.js"
import { homeAt, openHome } from "../home/home.js"
import { isOwned, takeOwnership } from "../home/owner.js"
import { homeOption } from "../options.js"
import { withProgress } from "../output/progress.js"

interface HomeOptions {
  readonly home?: string
}

export class DatabaseElsewhere extends KnownError {
  readonly code = "database_elsewhere"
}

/** @throws DatabaseElsewhere  when the databases are on a server of the user's own */
function assertOwnDatabase({ databaseUri }: Config): void {
  if (databaseUri)
    throw new DatabaseElsewhere(
      "the databases are on the server that DATABASE_URI names: back it up with pg_dumpall, and copy the data folder",
    )
}

export const backup: CliCommand<HomeOptions> = {
  words: "backup <file>",
  summary: "write everything into one file (.tar.gz), while it runs",
  options: [homeOption()],
  async run({ args, options, config, out, err }) {
    assertOwnDatabase(config)
    const home = await openHome(options.home ?? config.home)
    const file = resolve(args[0] ?? "")
    // A running installation keeps its Postgres; otherwise one is started for the moment, and nobody else may start.
    await using _ownership = (await isOwned(home)) ? undefined : await takeOwnership(home, "superstep backup")
    const postgres = await startPostgres({ folder: home.postgres, log: home.log })
    try {
      const { superuserUri } = postgres
      await withProgress(err, "writing the backup", () => backUp({ home, superuserUri, file }))
    } finally {
      if (!postgres.adopted) await postgres.stop()
    }
    out.line(file)
    err.line("  It holds the keys to your secrets: keep it as you keep those.")
  },
}

export const restoreCommand: CliCommand<HomeOptions> = {
  words: "restore <file>",
  summary: "make a data folder of such a file; superstep up then goes on from there",
  options: [homeOption()],
  async run({ args, options, config, out, err }) {
    assertOwnDatabase(config)
    const home = homeAt(options.home ?? config.home)
    if (await isOwned(home))
      throw new NoBackup(`Superstep runs on ${home.folder}: stop it, or choose another with --home`)
    await withProgress(err, "restoring", () => restore({ home, file: resolve(args[0] ?? "") }))
    out.line(home.folder)
  },
}

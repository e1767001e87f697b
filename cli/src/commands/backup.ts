/** `superstep backup` and `restore`: the whole installation as one file. */
import { resolve } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { Option } from "commander"
import { restoreDeployment } from "../backups/restore-deployment.js"
import type { CliCommand, Context } from "../command-line/command.js"
import type { Config } from "../command-line/config.js"
import { homeOption } from "../command-line/options.js"
import { type BackupStep, backUp, NoBackup, restore } from "../home/archive.js"
import { withHomePostgres } from "../home/command-postgres.js"
import { type Home, homeAt } from "../home/home.js"
import { locateInstallation } from "../home/installation.js"
import { isOwned } from "../home/owner.js"
import { withProgress } from "../output/progress.js"
import { quoted } from "../output/shell-word.js"

interface HomeOptions {
  readonly home?: string
}

export class DatabaseElsewhere extends KnownError {
  readonly code = "database_elsewhere"
}

/**
 * @param instead  what to do first, as the start of a sentence
 * @throws DatabaseElsewhere  when the databases are on a server of the user's own
 */
export function assertOwnDatabase({ databaseUri }: Config, instead = ""): void {
  if (databaseUri)
    throw new DatabaseElsewhere(
      `the databases are on the server of DATABASE_URI: ${instead}back it up with pg_dumpall, and copy the data folder`,
    )
}

export const backup: CliCommand<HomeOptions> = {
  words: "backup <file>",
  summary: "back up the installation into one file (.tar.gz); it may be running",
  options: [homeOption()],
  async run({ args, options, config, out, err }) {
    assertOwnDatabase(config)
    const home = await locateInstallation(options.home, config)
    const file = resolve(args[0] ?? "")
    const step: BackupStep = (name, work) => withProgress(err, name, work)
    await withHomePostgres({ home, command: "superstep backup" }, ({ superuserUri }) =>
      backUp({ home, superuserUri, file, step }),
    )
    out.line(file)
    err.line("  It contains the key of your secrets: protect it like them.")
  },
}

interface RestoreOptions extends HomeOptions {
  readonly deployment?: string
  readonly name?: string
  readonly workspace?: string
  readonly replace?: boolean
}

export const restoreCommand: CliCommand<RestoreOptions> = {
  words: "restore <file>",
  summary: "create a data folder from a backup, for superstep up, or restore one deployment",
  options: [
    new Option(
      "--deployment <name>",
      "restore only this deployment, by name or id, into the data folder's installation",
    ),
    new Option("--name <name>", "with --deployment: its name from now on"),
    new Option("--workspace <id>", "with --deployment: where it belongs, if its workspace is not there"),
    new Option("--replace", "with --deployment: delete the present one first"),
    homeOption(),
  ],
  async run({ args, options, config, out, err }) {
    assertOwnDatabase(config)
    const file = resolve(args[0] ?? "")
    if (options.deployment !== undefined) {
      const home = await locateInstallation(options.home, config)
      return restoreOne({ file, home, config, out, err }, options.deployment, options)
    }
    const home = homeAt(options.home ?? config.home)
    const stray = (["name", "workspace", "replace"] as const).find((name) => options[name] !== undefined)
    if (stray) throw new NoBackup(`--${stray} is only for a single deployment: name it with --deployment`)
    if (await isOwned(home))
      throw new NoBackup(`Superstep is running on ${home.folder}: stop it, or choose another folder with --home`)
    const { isCompletion } = await withProgress(err, "restoring", () => restore({ home, file }))
    out.line(home.folder)
    if (isCompletion) err.line(`  It is the backup that an earlier restore had unpacked there; ${file} was not read.`)
    const command = `superstep up --home ${quoted(home.folder)}`
    err.line(`  Start it with ${command}, beside another installation also with --port and --agents-port.`)
  },
}

async function restoreOne(
  { file, home, config, out, err }: Omit<Context, "release"> & { readonly file: string; readonly home: Home },
  wanted: string,
  { name, workspace: workspaceId = config.workspace, replace: isReplacing = false }: RestoreOptions,
): Promise<void> {
  const request = { home, config, file, wanted, name, workspaceId, isReplacing }
  const restored = await withProgress(err, `restoring ${wanted}`, () => restoreDeployment(request))
  const starts = (await isOwned(home)) ? "it starts now" : "it starts with superstep up"
  out.line(`${out.style("green", "✔")} ${restored.name} (${restored.deploymentId}) is restored, and ${starts}`)
}

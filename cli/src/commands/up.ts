/** `superstep up`, which `npm start` runs: the whole installation in the foreground. */

import { kindNames } from "@superstep/machines/kinds/kinds"
import { machineSettings } from "@superstep/machines/kinds/settings"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { isAlive } from "@superstep/toolkit/exec/process-identity"
import { Option } from "commander"
import { removeKilledRestore } from "../backups/restore-deployment.js"
import type { CliCommand, Context } from "../command-line/command.js"
import { homeOption, portOption } from "../command-line/options.js"
import { removeKilledBackup } from "../home/archive.js"
import { openHome } from "../home/home.js"
import { type About, type Ownership, takeOwnership } from "../home/owner.js"
import { type Place, readEntry } from "../home/owner-file.js"
import { handOver, successorOf, takeOver } from "../home/take-over.js"
import { defaultPlace } from "../processes/default-place.js"
import { assertOwnDatabase } from "./backup.js"
import { type InstallationOptions, nameOf, runInstallation } from "./run-installation.js"

interface UpOptions {
  readonly home?: string
  readonly port?: number
  readonly agentsPort?: number
  readonly host?: string
  readonly example: boolean
  readonly takeOver?: boolean
  readonly machine?: string
  readonly npmStartAt?: number
}

export const up: CliCommand<UpOptions> = {
  words: "up",
  summary: "start the control plane, agents and Postgres",
  options: [
    homeOption(),
    portOption("-p, --port <port>", `port of the control plane (default: ${defaultPlace.port})`).env("SUPERSTEP_PORT"),
    portOption("--agents-port <port>", `port of the agents (default: ${defaultPlace.agentsPort})`).env(
      "SUPERSTEP_AGENTS_PORT",
    ),
    new Option("--host <address>", `address to listen on (default: ${defaultPlace.host})`).env("SUPERSTEP_HOST"),
    new Option("--machine <kind>", "what agents run in (default: process)").choices(kindNames).env("SUPERSTEP_MACHINE"),
    new Option("--no-example", "do not deploy the example on the first start"),
    new Option("--take-over", "replace the superstep up that runs on the folder; agents keep running: for upgrades"),
    // Given by scripts/start.mjs.
    new Option("--npm-start-at <ms>").argParser(Number).hideHelp(),
  ],
  async run({ options, ...given }) {
    const context = withMachine(given, options.machine)
    if (context.config.backupSchedule !== undefined)
      assertOwnDatabase(context.config, "unset SUPERSTEP_BACKUP_SCHEDULE, ")
    const home = await openHome(options.home ?? context.config.home)
    await removeKilledBackup(home)
    await removeKilledRestore(home)
    const entry = options.takeOver ? await readEntry(home.owner) : undefined
    const former = entry && (await isAlive(entry.owner)) ? entry : undefined
    // Also the place of a former program that was killed: agents and their edge still run where it had them.
    const place = placeFor(options, context, entry?.place)
    const about: About = { command: "superstep up", release: context.release, place }
    const own = () => takeOwnership(home, about.command, about)
    const start = { context, home, place, example: options.example && !former, npmStartAt: options.npmStartAt, former }
    if (await run(start, options.takeOver ? await takeOver(home, about) : await own())) return
    do {
      // The successor failed, and no program has the folder: adopt everything again, as after a kill.
      context.err.line(`  ${context.err.style("yellow", "!")} it did not start: this program continues`)
    } while (!(await run({ ...start, example: false, former: undefined }, await own())))
  },
}

/** The control plane reads it from its environment. Pure. */
function withMachine(context: Context, machine: string | undefined): Context {
  if (machine === undefined) return context
  const environment = { ...context.config.environment, [machineSettings.machine.env]: machine }
  return { ...context, config: { ...context.config, environment } }
}

/** Agents that run under other settings would be moved or, with another database, treated as orphans and stopped. */
export class OtherSettings extends KnownError {
  readonly code = "other_settings"
}

/** Our own options take precedence over the running place. Pure. @throws OtherSettings  they name another database */
function placeFor(options: UpOptions, { config }: Context, former: Place | undefined): Place {
  const database = config.databaseUri ? "DATABASE_URI" : "embedded"
  if (former && former.database !== database) {
    const toDo = former.database === "embedded" ? "unset DATABASE_URI" : "set DATABASE_URI to the same address"
    throw new OtherSettings(`the running installation uses another database: ${toDo}`)
  }
  const { host, port, agentsPort } = { ...defaultPlace, ...former }
  return {
    host: options.host ?? host,
    port: options.port ?? port,
    agentsPort: options.agentsPort ?? agentsPort,
    database,
  }
}

/** @returns  whether this program is done; false when it gave the installation away and the successor failed */
async function run(start: Omit<InstallationOptions, "ownership">, owned: Ownership): Promise<boolean> {
  await using ownership = owned
  const { context, home } = start
  if ((await runInstallation({ ...start, ownership })) !== "handed over") return true
  const successor = await successorOf(home)
  if (!successor) return false
  const settled = await handOver(home, ownership, successor)
  if (settled) context.err.line(`  ${nameOf(settled)} has taken over; agents kept running`)
  return settled !== undefined
}

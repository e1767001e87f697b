/** `superstep up`, which `npm start` runs: the whole installation in the foreground. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { isAlive } from "@superstep/toolkit/exec/process-identity"
import { Option } from "commander"
import type { CliCommand, Context } from "../command.js"
import { forgetKilledBackup } from "../home/archive.js"
import { openHome } from "../home/home.js"
import { type About, type Ownership, takeOwnership } from "../home/owner.js"
import { type Place, readEntry } from "../home/owner-file.js"
import { handOver, successorOf, takeOver } from "../home/take-over.js"
import { homeOption, portOption } from "../options.js"
import { defaultPlace } from "../processes/default-place.js"
import { release } from "../release.js"
import { type InstallationOptions, nameOf, runInstallation } from "./run-installation.js"

interface UpOptions {
  readonly home?: string
  readonly port?: number
  readonly agentsPort?: number
  readonly host?: string
  readonly example: boolean
  readonly takeOver?: boolean
}

export const up: CliCommand<UpOptions> = {
  words: "up",
  summary: "start the control plane, the agents and Postgres",
  options: [
    homeOption(),
    portOption("-p, --port <port>", `port of the control plane (default: ${defaultPlace.port})`),
    portOption("--agents-port <port>", `port that agents are reached at (default: ${defaultPlace.agentsPort})`),
    new Option("--host <address>", `address to listen on (default: ${defaultPlace.host})`),
    new Option("--no-example", "do not deploy the example on the first start"),
    new Option(
      "--take-over",
      "go on with what another superstep up runs on the folder, which then ends: for an upgrade",
    ),
  ],
  async run({ options, ...context }) {
    const home = await openHome(options.home ?? context.config.home)
    await forgetKilledBackup(home)
    const entry = options.takeOver ? await readEntry(home.owner) : undefined
    const former = entry && (await isAlive(entry.owner)) ? entry : undefined
    // Of a former one that was killed, too: agents and their edge are still where it had them.
    const place = placeFor(options, context, entry?.place)
    const about: About = { command: "superstep up", release: release(), place }
    const own = () => takeOwnership(home, about.command, about)
    const start = { context, home, place, example: options.example && !former, former }
    if (await run(start, options.takeOver ? await takeOver(home, about) : await own())) return
    do {
      // Given away, and nobody has it: everything is taken up again, as after a kill.
      context.err.line(`  ${context.err.style("yellow", "!")} it did not come up: this program goes on`)
    } while (!(await run({ ...start, example: false, former: undefined }, await own())))
  },
}

/** What runs under other settings than ours would be moved or, on another database, taken for strangers and ended. */
export class OtherSettings extends KnownError {
  readonly code = "other_settings"
}

/** Options of our own go first, then what runs. Pure. @throws OtherSettings  they are of another database */
function placeFor(options: UpOptions, { config }: Context, former: Place | undefined): Place {
  const database = config.databaseUri ? "DATABASE_URI" : "embedded"
  if (former && former.database !== database) {
    const toDo = former.database === "embedded" ? "unset DATABASE_URI" : "set DATABASE_URI as it has it"
    throw new OtherSettings(`what runs has another database: ${toDo}`)
  }
  const { host, port, agentsPort } = { ...defaultPlace, ...former }
  return {
    host: options.host ?? host,
    port: options.port ?? port,
    agentsPort: options.agentsPort ?? agentsPort,
    database,
  }
}

/** @returns whether this program is done; false when it gave the installation away, and nobody has it */
async function run(start: Omit<InstallationOptions, "ownership">, owned: Ownership): Promise<boolean> {
  await using ownership = owned
  const { context, home } = start
  if ((await runInstallation({ ...start, ownership })) !== "given up") return true
  const successor = await successorOf(home)
  if (!successor) return false
  const settled = await handOver(home, ownership, successor)
  if (settled) context.err.line(`  ${nameOf(settled)} runs it from now on; agents went on`)
  return settled !== undefined
}

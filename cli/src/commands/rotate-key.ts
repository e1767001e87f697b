/** `superstep secrets rotate-key`: encrypts all secrets of the installation with another master key. */
import { randomUUID } from "node:crypto"
import { readConfig as readControlConfig } from "@superstep/control/config"
import { foldersOf } from "@superstep/control/home/folders"
import { openHome as lockHome, restoredFromOf } from "@superstep/control/home/home"
import { stayInCharge, takeDatabase } from "@superstep/control/home/home-in-charge"
import { rotateMasterKey } from "@superstep/control/master-key"
import type { CliCommand } from "../command-line/command.js"
import { homeOption, jsonOption } from "../command-line/options.js"
import { withControlDatabase } from "../home/control-database.js"
import { openInstallation } from "../home/installation.js"

interface RotateOptions {
  readonly home?: string
  readonly json?: boolean
}

export const rotateKey: CliCommand<RotateOptions> = {
  words: "secrets rotate-key",
  summary: "encrypt all secrets with a new master key, while the platform is stopped",
  options: [jsonOption(), homeOption()],
  async run({ options, config, out, err }) {
    const home = await openInstallation(options.home, config)
    const command = "superstep secrets rotate-key"
    const rotation = await withControlDatabase({ home, config, command, alone: true }, async (db) => {
      const folders = foldersOf(home.folder)
      // A control plane that was started without this command line has a lock of its own.
      const homeId = await lockHome(folders)
      // So has a control plane with another data folder on the same database.
      const processId = randomUUID()
      await takeDatabase(db, { homeId, restoredFrom: await restoredFromOf(folders), processId, standsBy: false })
      const leaveDatabase = stayInCharge({ db, log: home.log }, processId, (err) =>
        home.log.error({ err }, "another control plane uses the database now: stop it"),
      )
      try {
        const settings = { ...config.environment, SUPERSTEP_HOME: home.folder, DATABASE_URI: db.uri }
        return await rotateMasterKey({ config: readControlConfig(settings), folders, log: home.log }, db)
      } finally {
        await leaveDatabase()
      }
    })
    const { from, to, values, toDo } = rotation
    if (options.json) out.line(JSON.stringify({ from, to, values, to_do: toDo ?? null }))
    else
      out.line(`${out.style("green", "✔")} ${values} values are encrypted with the master key ${to} (before: ${from})`)
    if (toDo) err.line(`  ${toDo}`)
    err.line("  Earlier backups contain the former key. Create a new backup.")
  },
}

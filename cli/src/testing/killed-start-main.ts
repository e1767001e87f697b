/** Starts a control plane, prints its identity, and is killed when it would note that: arguments are data folder, database, two ports. */
import { writeSync } from "node:fs"
import { readConfig } from "../command-line/config.js"
import { startControl } from "../home/control-process.js"
import { openHome } from "../home/home.js"
import { takeOwnership } from "../home/owner.js"

const [folder = "", databaseUri = "", port, agentsPort] = process.argv.slice(2)
const home = await openHome(folder)
await using ownership = await takeOwnership(home, "superstep up")
await startControl({
  home,
  config: readConfig(process.env),
  ownership: {
    ...ownership,
    noteChild: async (child) => {
      writeSync(1, JSON.stringify(child))
      process.kill(process.pid, "SIGKILL")
    },
  },
  databaseUri,
  host: "127.0.0.1",
  port: Number(port),
  agentsPort: Number(agentsPort),
  onEnd: () => undefined,
})

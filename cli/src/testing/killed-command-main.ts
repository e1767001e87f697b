/** A command that prints the identity of its Postgres and is killed: the argument is the data folder. */
import { writeSync } from "node:fs"
import { identify } from "@superstep/toolkit/exec/process-identity"
import { withHomePostgres } from "../home/command-postgres.js"
import { openHome } from "../home/home.js"

const home = await openHome(process.argv[2] ?? "")
await withHomePostgres({ home, command: "superstep backup" }, async ({ pid }) => {
  writeSync(1, JSON.stringify(await identify(pid)))
  process.kill(process.pid, "SIGKILL")
})

/** Holds the histories of the seeds that `main.ts` sends, one after the other, in a database of its own, and answers with what came of each. */
import { on } from "node:events"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { ownTheTime } from "@superstep/toolkit/testing/simulation/simulated-database"
import { openSession } from "@superstep/toolkit/testing/simulation/simulated-session"
import { migrations } from "../api.js"
import { simulate } from "./simulate.js"

// A terminal's Ctrl-C also reaches this process: `main.ts` says when to end.
process.on("SIGINT", () => undefined)
const tell = process.argv.includes("--verbose") ? (line: string) => void process.stdout.write(`${line}\n`) : undefined
const seeds = on(process, "message", { close: ["disconnect"] })
await using database = await freshDatabase({ migrations })
await ownTheTime(database)
await using session = await openSession(database.uri)
process.send?.("ready")
for await (const [seed] of seeds) {
  const outcome = await simulate(session, seed, tell)
  // Its parent may be gone.
  if (process.connected) process.send?.(outcome)
}

/** Holds histories of the queue, in a database of its own. */
import { holdHistories } from "@superstep/toolkit/testing/simulation/histories"
import { preparedDatabase } from "./database.js"
import { simulate } from "./simulate.js"

await using prepared = await preparedDatabase()
await holdHistories((seed, tell) => simulate(prepared.session, seed, tell))

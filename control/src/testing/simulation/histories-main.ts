/** Holds histories of the planner, in a database of its own. */
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { holdHistories } from "@superstep/toolkit/testing/simulation/histories"
import { ownTheTime } from "@superstep/toolkit/testing/simulation/simulated-database"
import { openSession } from "@superstep/toolkit/testing/simulation/simulated-session"
import { migrations } from "../api.js"
import { keepLockOrder } from "../lock-order.js"
import { simulate } from "./simulate.js"

await using database = await freshDatabase({ migrations })
await ownTheTime(database)
await keepLockOrder(database)
await using session = await openSession(database.uri)
await holdHistories((seed, tell) => simulate(session, seed, tell))

/** The log of a simulated control plane: which errors planned faults explain. */
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { SimulatedFault } from "@superstep/toolkit/testing/simulation/faults"
import { type SimulatedLogOptions, simulatedLog } from "@superstep/toolkit/testing/simulation/simulated-log"
import { DeployFailed } from "../../pipeline/failures.js"
import { NoConnections } from "../../planner/connections.js"
import { ClaimLost } from "../../revisions/claims.js"

const known = [SimulatedFault, DatabaseUnavailable, Unavailable, DeployFailed, ClaimLost, NoConnections]
// Units that crash, hang or are busy.
const passing = /^simulated E|no end within|refused|The operation was aborted/

const isPlanned = (err: unknown): boolean =>
  known.some((type) => err instanceof type) || (err instanceof Error && passing.test(err.message))

export const worldLog = (options: Omit<SimulatedLogOptions, "isPlanned">): Log =>
  simulatedLog({ ...options, isPlanned })

/** The log of a simulated control plane: each line is an event, and an error that no planned fault explains is a fault of ours. */
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { type Life, SimulatedFault } from "@superstep/toolkit/testing/simulation/faults"
import { DeployFailed } from "../../pipeline/failures.js"
import { NoConnections } from "../../planner/connections.js"
import { ClaimLost } from "../../revisions/claims.js"

export type Tell = (what: string, facts?: string) => void

const known = [SimulatedFault, DatabaseUnavailable, Unavailable, DeployFailed, ClaimLost, NoConnections]
// Units that crash, hang or are busy.
const passing = /^simulated E|no end within|refused|The operation was aborted/

const isPlanned = (err: unknown): boolean =>
  known.some((type) => err instanceof type) || (err instanceof Error && passing.test(err.message))

export function worldLog(tell: Tell, life: Life, onProblem: (problem: string) => void): Log {
  const write = (level: string) => (facts: Record<string, unknown>, message: string) => {
    if (life.isOver) return
    const { err, ...others } = facts
    const words = err instanceof Error ? `${err.name}: ${err.message}` : ""
    tell(`${level} ${message}`, `${JSON.stringify(others)} ${words}`)
    if (err !== undefined && !isPlanned(err)) onProblem(`"${message}": ${err instanceof Error ? err.stack : err}`)
  }
  const levels = Object.fromEntries(["info", "warn", "error", "fatal"].map((level) => [level, write(level)]))
  return { ...levels, debug: () => undefined, trace: () => undefined } as unknown as Log
}

/**
 * The agents of an installation: its units, the edge in front of them and the builds of new ones. The control plane starts and stops them; when
 * it is not there to do so, because it was killed or cannot start, this does.
 */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { readJson } from "@superstep/control/files/json-file"
import { foldersOf } from "@superstep/control/pipeline/folders"
import { retiredEdges } from "@superstep/control/pipeline/retired-edges"
import { stopBuilds } from "@superstep/control/pipeline/stop-builds"
import { processRuntime } from "@superstep/control/runtimes/process"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import type { Home } from "./home.js"

export interface Agents {
  /** Whether an edge of this installation lives: then the agents' port is in use by ourselves. */
  edgeRuns(): Promise<boolean>
  /** The control plane takes requests a moment before its edge does. Returns when it does, or at a stop, or in vain. */
  untilEdgeRuns(stopped: Promise<unknown>): Promise<void>
  /** Ends what runs, the edge first, so that nobody is sent to a unit that stops. Each has `graceMs` for its own end. */
  stop(graceMs: number): Promise<void>
}

const pollMs = 50
// The log of a control plane that cannot start its edge says why; it goes on trying.
const patienceMs = 30_000

export function agentsOf(home: Home): Agents {
  const folders = foldersOf(home.folder)
  // Only for finding and ending units: what is needed to start one stays empty.
  const runtime = processRuntime({
    unitsFolder: folders.units,
    runFolder: folders.run,
    serverEntry: "",
    isolation: { user: () => undefined, warning: undefined },
    environment: {},
  })
  const edge = () => readJson<ProcessIdentity>(join(folders.edge, "pid.json"))
  const edgeRuns = async () => {
    const identity = await edge()
    return identity !== undefined && isAlive(identity)
  }
  return {
    edgeRuns,
    untilEdgeRuns: async (stopped) => {
      const over = new AbortController()
      void stopped.then(() => over.abort())
      const deadline = performance.now() + patienceMs
      while (!over.signal.aborted && performance.now() < deadline && !(await edgeRuns())) await sleep(pollMs)
    },
    stop: async (graceMs) => {
      const identity = await edge()
      if (identity) await stopProcess(identity, { graceMs })
      await retiredEdges({ folders, drainMs: 0, log: home.log }).stop(graceMs)
      const units = await runtime.list()
      await Promise.all([...units.map((unitId) => runtime.stop(unitId, { graceMs })), stopBuilds(folders)])
    },
  }
}

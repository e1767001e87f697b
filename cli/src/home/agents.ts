/**
 * The agents of an installation: its units, the edge in front of them and the builds of new ones. The control plane starts
 * and stops them; when it cannot, because it was killed or fails to start, this module stops them.
 */
import { join } from "node:path"
import { homeIdOf } from "@superstep/control/home/home"
import { type Ending, foundMachine } from "@superstep/machines/kinds/found-machine"
import { retiredEdges } from "@superstep/machines/parts/edge/retired-edges"
import { machineFolders } from "@superstep/machines/parts/files/folders"
import { Secret } from "@superstep/toolkit/config/settings"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { readJson } from "@superstep/toolkit/files/json-file"
import type { Home } from "./home.js"

export interface Agents {
  /** Whether an edge of this installation runs: then the agents' port is in use by ourselves. */
  edgeRuns(): Promise<boolean>
  /** Ids of the units that run. */
  running(): Promise<string[]>
  /** Whether a process runs that may have requests under way. */
  anyRuns(): Promise<boolean>
  /** Stops everything that runs, the edge first, so that no request is sent to a stopping unit. */
  stop(ending: Ending): Promise<void>
}

/** @param environment  of this process */
export function agentsOf(home: Home, environment: NodeJS.ProcessEnv): Agents {
  const folders = machineFolders(home.folder)
  const machine = foundMachine({ home: home.folder, homeId: () => homeIdOf(folders), log: home.log, environment })
  const edge = () => readJson<ProcessIdentity>(join(folders.edge, "pid.json"))
  const edgeRuns = async () => {
    const identity = await edge()
    return identity !== undefined && isAlive(identity)
  }
  return {
    edgeRuns,
    running: machine.running,
    anyRuns: async () => (await edgeRuns()) || (await machine.running()).length > 0,
    stop: async (ending) => {
      const { graceMs } = ending
      const identity = await edge()
      if (identity) await stopProcess(identity, { graceMs })
      await retiredEdges({ folders, token: new Secret(""), drainMs: 0, log: home.log }).stop(graceMs)
      await machine.stop(ending)
    },
  }
}

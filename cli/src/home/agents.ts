/**
 * The agents of an installation: its units, the edge in front of them and the builds of new ones. The control plane starts and stops them; when
 * it is not there to do so, because it was killed or cannot start, this does.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { readJson } from "@superstep/control/files/json-file"
import { homeIdOf } from "@superstep/control/home"
import { foldersOf } from "@superstep/control/pipeline/folders"
import { retiredEdges } from "@superstep/control/pipeline/retired-edges"
import { stopBuilds } from "@superstep/control/pipeline/stop-builds"
import { type Cgroups, existingCgroups } from "@superstep/control/runtimes/cgroups"
import { processRuntime } from "@superstep/control/runtimes/process"
import { Secret } from "@superstep/toolkit/config/settings"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import type { Home } from "./home.js"

export interface Agents {
  /** Whether an edge of this installation lives: then the agents' port is in use by ourselves. */
  edgeRuns(): Promise<boolean>
  /** Ids of the units that run. */
  running(): Promise<string[]>
  /** Whether anything runs that requests may be under way to. */
  anyRuns(): Promise<boolean>
  /** Ends what runs, the edge first, so that nobody is sent to a unit that stops. Each has `graceMs` for its own end. */
  stop(graceMs: number): Promise<void>
}

export function agentsOf(home: Home): Agents {
  const folders = foldersOf(home.folder)
  // Only for finding and ending units: what is needed to start one stays empty.
  const runtimeIn = (cgroups: Cgroups | undefined) =>
    processRuntime({
      unitsFolder: folders.units,
      socketsFolder: folders.unitSockets,
      serverEntry: "",
      isolation: { user: () => undefined, warning: undefined },
      cgroups,
      environment: {},
    })
  const runtime = runtimeIn(undefined)
  const edge = () => readJson<ProcessIdentity>(join(folders.edge, "pid.json"))
  const edgeRuns = async () => {
    const identity = await edge()
    return identity !== undefined && isAlive(identity)
  }
  // Listing makes the folder, whose permissions are the control plane's to choose.
  const units = async () => (existsSync(folders.units) ? await runtime.list() : [])
  // Where a control plane has been; else the folder is not ours to make.
  const groups = async () =>
    existsSync(folders.units) ? existingCgroups({ homeId: await homeIdOf(folders), home: folders.home }) : undefined
  const running = async () => {
    const looked = (await units()).map(async (unitId) => ({ unitId, ...(await runtime.status(unitId)) }))
    return (await Promise.all(looked)).filter(({ state }) => state === "running").map(({ unitId }) => unitId)
  }
  return {
    edgeRuns,
    running,
    anyRuns: async () => (await edgeRuns()) || (await running()).length > 0,
    stop: async (graceMs) => {
      const identity = await edge()
      if (identity) await stopProcess(identity, { graceMs })
      await retiredEdges({ folders, token: new Secret(""), drainMs: 0, log: home.log }).stop(graceMs)
      const [unitIds, cgroups] = [await units(), await groups()]
      const ending = runtimeIn(cgroups)
      await Promise.all([...unitIds.map((unitId) => ending.stop(unitId, { graceMs })), stopBuilds(folders)])
      await cgroups?.close()
    },
  }
}

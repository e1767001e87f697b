/** Edges that have a successor and still carry what was open: kept up to date, counted, and ended in the end. */
import { mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import type { Log } from "@superstep/toolkit/log/log"
import { edgeStatus, pushTable, retireEdge } from "../edge/client.js"
import type { Table } from "../edge/table.js"
import { readJson, writeJson } from "../files/json-file.js"
import type { EdgeState } from "./context.js"
import type { Folders } from "./folders.js"

interface Retired extends ProcessIdentity {
  /** Milliseconds since 1970. */
  readonly since: number
}

// What is open is cut by then; the edge's own end takes no longer.
const stopMs = 1000

export interface RetiredEdgesOptions {
  readonly folders: Folders
  /** How long one may go on with what is open. */
  readonly drainMs: number
  readonly log: Log
}

export function retiredEdges({ folders, drainMs, log }: RetiredEdgesOptions) {
  const folder = join(folders.edge, "retired")
  const fileOf = ({ pid }: { pid: number }) => join(folder, `${pid}.json`)
  const socketOf = ({ pid }: { pid: number }) => join(folders.run, `edge-${pid}.sock`)

  const forget = async (it: Retired) => {
    await rm(socketOf(it), { force: true })
    await rm(fileOf(it), { force: true })
  }

  const all = async (): Promise<Retired[]> => {
    const names = await readdir(folder).catch(ifCode(["ENOENT"], []))
    const files = names.filter((name) => name.endsWith(".json"))
    const read = await Promise.all(files.map((name) => readJson<Retired>(join(folder, name))))
    return read.filter((it) => it !== undefined)
  }

  const add = async ({ pid, startTicks, bootId }: ProcessIdentity): Promise<void> => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeJson(fileOf({ pid }), { pid, startTicks, bootId, since: Date.now() } satisfies Retired)
  }

  /** Tells each that it has retired, ends those that took too long, and forgets those that have ended. */
  const lookAfter = async (): Promise<void> => {
    for (const it of await all()) {
      if (Date.now() - it.since > drainMs) await stopProcess(it, { graceMs: stopMs })
      if (await isAlive(it)) await retireEdge(socketOf(it)).catch(undefinedIfUnavailable)
      else await forget(it)
    }
  }

  /** One that does not answer has just ended, or serves nobody any more. */
  const push = async (table: Table): Promise<void> => {
    for (const it of await all()) {
      await pushTable(socketOf(it), table).catch((err: unknown) =>
        log.warn({ err, pid: it.pid }, "an edge that hands over did not take the table"),
      )
    }
  }

  const statuses = async (): Promise<EdgeState[]> => {
    const asked = (await all()).map((it) => edgeStatus(socketOf(it)).catch(undefinedIfUnavailable))
    return (await Promise.all(asked)).filter((it) => it !== undefined)
  }

  const stop = async (graceMs: number): Promise<void> => {
    for (const it of await all()) {
      await stopProcess(it, { graceMs })
      await forget(it)
    }
  }
  return { socketOf, add, lookAfter, push, statuses, stop }
}

/** What is open on each unit through any of the edges. Pure. */
export function openTogether(current: EdgeState, retired: readonly EdgeState[]): EdgeState {
  const units: Record<string, EdgeState["units"][string]> = { ...current.units }
  for (const [unitId, more] of retired.flatMap((it) => Object.entries(it.units))) {
    const open = units[unitId] ?? { requests: 0, streams: 0, websockets: 0, idle_ms: more.idle_ms }
    units[unitId] = {
      requests: open.requests + more.requests,
      streams: open.streams + more.streams,
      websockets: open.websockets + more.websockets,
      idle_ms: Math.min(open.idle_ms, more.idle_ms),
    }
  }
  return { generation: current.generation, units, deployments: current.deployments }
}

function undefinedIfUnavailable(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}

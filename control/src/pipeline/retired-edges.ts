/**
 * Edges that have a successor and still carry what was open: kept up to date, counted, and ended in the end. One of them
 * may hang, and that must not slow the edge that serves: a table is sent to them behind everybody's back, and other
 * questions are waited for no longer than an edge that is well needs.
 */
import { mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import type { Secret } from "@superstep/toolkit/config/settings"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { pause } from "@superstep/toolkit/exec/pause"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import type { Log } from "@superstep/toolkit/log/log"
import { type EdgeAdmin, edgeStatus, pushTable, retireEdge } from "../edge/client.js"
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
// It answers in milliseconds, or hangs.
const patienceMs = 500

export interface RetiredEdgesOptions {
  readonly folders: Folders
  /** What edges of this installation know us by. */
  readonly token: Secret
  /** How long one may go on with what is open. */
  readonly drainMs: number
  readonly log: Log
}

export function retiredEdges({ folders, token, drainMs, log }: RetiredEdgesOptions) {
  const folder = join(folders.edge, "retired")
  const fileOf = ({ pid }: { pid: number }) => join(folder, `${pid}.json`)
  const socketOf = ({ pid }: { pid: number }) => join(folders.edgeSockets, `${pid}.sock`)
  const adminOf = (it: { pid: number }): EdgeAdmin => ({ socketPath: socketOf(it), token })

  // By pid: what it was asked and has not answered, and the table that it gets next.
  const asked = new Map<string, Promise<unknown>>()
  const nextTable = new Map<number, Table>()

  /** @returns undefined when it does not answer in time, or has not answered the same question from before */
  const ask = async <T>(key: string, question: () => Promise<T>): Promise<T | undefined> => {
    if (asked.has(key)) return undefined
    const answer = question().catch(undefinedIfUnavailable)
    const answered = answer.finally(() => asked.delete(key))
    asked.set(key, answered)
    const over = new AbortController()
    try {
      return await Promise.race([answered, pause(patienceMs, over.signal).then(() => undefined)])
    } finally {
      over.abort()
    }
  }

  /** Sends the newest table there is, until it has that. It hangs for itself alone. */
  const bringUpToDate = async (it: Retired): Promise<void> => {
    for (let table = nextTable.get(it.pid); table; table = nextTable.get(it.pid)) {
      nextTable.delete(it.pid)
      // One that does not answer has just ended, or serves nobody any more.
      await pushTable(adminOf(it), table).catch((err: unknown) =>
        log.warn({ err, pid: it.pid }, "an edge that hands over did not take the table"),
      )
    }
  }

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
    const lookAt = async (it: Retired) => {
      if (Date.now() - it.since > drainMs) await stopProcess(it, { graceMs: stopMs })
      if (await isAlive(it)) await ask(`retire ${it.pid}`, () => retireEdge(adminOf(it)))
      else await forget(it)
    }
    await Promise.all((await all()).map(lookAt))
  }

  /** Sockets of edges that were killed together with us, after their socket was moved away and before they were added. */
  const forgetLost = async (): Promise<void> => {
    for (const name of await readdir(folders.edgeSockets)) {
      const pid = Number(/^(\d+)\.sock$/.exec(name)?.[1])
      if (pid > 0 && !(await identify(pid))) await rm(socketOf({ pid }), { force: true })
    }
  }

  /** Returns before they have it: nobody new comes to them. */
  const push = async (table: Table): Promise<void> => {
    for (const it of await all()) {
      nextTable.set(it.pid, table)
      const key = `table ${it.pid}`
      if (asked.has(key)) continue
      asked.set(
        key,
        bringUpToDate(it).finally(() => asked.delete(key)),
      )
    }
  }

  const statuses = async (): Promise<EdgeState[]> => {
    const answers = (await all()).map((it) => ask(`status ${it.pid}`, () => edgeStatus(adminOf(it))))
    return (await Promise.all(answers)).filter((it) => it !== undefined)
  }

  const stop = async (graceMs: number): Promise<void> => {
    for (const it of await all()) {
      await stopProcess(it, { graceMs })
      await forget(it)
    }
  }
  return { socketOf, adminOf, add, lookAfter, forgetLost, push, statuses, stop }
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

/**
 * Edges that have a successor and still carry open requests: they get tables, are counted, and are stopped in the end. One of
 * them may hang, which must not slow the serving edge: each has a feed of tables of its own, and other requests to them time out soon.
 */
import { mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { type EdgeAdmin, type EdgeStatus, edgeStatus, retireEdge } from "@superstep/edge/client"
import type { EdgeTable } from "@superstep/edge/port"
import type { Table, Unit } from "@superstep/edge/table"
import { unixAddress, unixPathOf } from "@superstep/protocol/http/address"
import type { Secret } from "@superstep/toolkit/config/settings"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { pause } from "@superstep/toolkit/exec/pause"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import type { Log } from "@superstep/toolkit/log/log"
import { unknownMs } from "../edges/edges.js"
import { TableFeed } from "../edges/table-feed.js"
import type { MachineFolders } from "../files/folders.js"

interface Retired extends ProcessIdentity {
  /** Milliseconds since 1970. */
  readonly since: number
}

// By then open requests are cut; the edge's own shutdown takes no longer.
const stopMs = 1000
// An edge answers in milliseconds, or hangs.
const patienceMs = 500

export interface RetiredEdgesOptions {
  readonly folders: MachineFolders
  /** The token of this installation's edges. */
  readonly token: Secret
  /** How long a retired edge may go on with what is open. */
  readonly drainMs: number
  readonly log: Log
}

export function retiredEdges({ folders, token, drainMs, log }: RetiredEdgesOptions) {
  const folder = join(folders.edge, "retired")
  const fileOf = ({ pid }: { pid: number }) => join(folder, `${pid}.json`)
  const socketOf = ({ pid }: { pid: number }) => join(folders.edgeSockets, `${pid}.sock`)
  const adminOf = (it: { pid: number }): EdgeAdmin => ({ address: unixAddress(socketOf(it)), token })

  // The unanswered requests to them. By pid: what sends it tables, and what it reported last.
  const asked = new Map<string, Promise<unknown>>()
  const feeds = new Map<number, TableFeed>()
  const reports = new Map<number, EdgeStatus>()
  const startedAt = Date.now()

  /** @returns  undefined when it does not answer in time, or has not answered the same question from before */
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

  const removeRetired = async (it: Retired) => {
    feeds.get(it.pid)?.stop()
    feeds.delete(it.pid)
    reports.delete(it.pid)
    await rm(socketOf(it), { force: true })
    await rm(fileOf(it), { force: true })
  }

  const nameOf = ({ pid }: { pid: number }) => `retired ${pid}`

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

  /** Asks each to retire, stops those that take too long, and removes what those that have ended left. */
  const retireAll = async (): Promise<void> => {
    const lookAt = async (it: Retired) => {
      if (Date.now() - it.since > drainMs) await stopProcess(it, { graceMs: stopMs })
      if (await isAlive(it)) await ask(`retire ${it.pid}`, () => retireEdge(adminOf(it)))
      else await removeRetired(it)
    }
    await Promise.all((await all()).map(lookAt))
  }

  /** Removes sockets of edges that were killed together with us, after their socket was moved away and before they were added. */
  const removeLostSockets = async (): Promise<void> => {
    for (const name of await readdir(folders.edgeSockets)) {
      const pid = Number(/^(\d+)\.sock$/.exec(name)?.[1])
      if (pid > 0 && !(await identify(pid))) await rm(socketOf({ pid }), { force: true })
    }
  }

  /** Returns before they have the table: they get no new connections. */
  const push = async (table: Table): Promise<void> => {
    for (const it of await all()) {
      const feed = feeds.get(it.pid) ?? new TableFeed({ admin: adminOf(it), log })
      feeds.set(it.pid, feed)
      feed.offer(withSocketPaths(table))
    }
  }
  const tables = (): EdgeTable[] => [...feeds].map(([pid, { lag }]) => lag.report(nameOf({ pid }), false))

  /**
   * What they carry. One that does not answer in time still carries what it reported last, until its process has ended.
   * @returns  also the names of those that live and have reported nothing to this process yet
   */
  const statuses = async (): Promise<{
    readonly reports: readonly EdgeStatus[]
    readonly silent: readonly string[]
  }> => {
    const statusOf = async (it: Retired) => {
      const answer = await ask(`status ${it.pid}`, () => edgeStatus(adminOf(it)))
      if (answer) reports.set(it.pid, answer)
      return answer || (await isAlive(it)) ? { it, report: reports.get(it.pid) } : undefined
    }
    const living = (await Promise.all((await all()).map(statusOf))).filter((found) => found !== undefined)
    return {
      reports: living.flatMap(({ report }) => report ?? []),
      silent: living
        .filter(({ it, report }) => !report && Date.now() - Math.max(startedAt, it.since) < unknownMs)
        .map(({ it }) => nameOf(it)),
    }
  }

  const stop = async (graceMs: number): Promise<void> => {
    for (const it of await all()) {
      await stopProcess(it, { graceMs })
      await removeRetired(it)
    }
  }
  return { socketOf, adminOf, add, retireAll, removeLostSockets, push, tables, statuses, stop }
}

/** Edges of older releases know units by the path of their Unix socket. Pure. */
function withSocketPaths(table: Table): Table {
  const withPath = (unit: Unit) => ({ ...unit, socket_path: unixPathOf(unit.address) })
  const routes = table.routes.map((route) => ({
    ...route,
    units: route.units.map(withPath),
    standby: route.standby.map(withPath),
  }))
  return { ...table, routes }
}

function undefinedIfUnavailable(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}

/**
 * Several edges as one. Somebody else starts them and sends callers to those that are ready; we send tables and ask what is open.
 * M1 A push resolves when every edge that is ready uses the table. An edge that is gone, or gets no callers, delays nobody. One that is
 *    ready and silent, as on a dead node, makes a push fail after all others have the table; it is waited for once.
 * M2 An edge is ready only with a table: a new one, or one that has started again, gets the last within a second.
 * M3 What an edge that gets no more callers still carries is counted, and keys that are revoked end it there too.
 * M4 The sums of what they answered never fall while this process runs; that of a deployment ends with its route.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type EdgeAdmin, type EdgeStatus, edgeStatus, pushTable } from "@superstep/edge/client"
import { openTogether } from "@superstep/edge/open-together"
import type { Edge, EdgeState } from "@superstep/edge/port"
import type { Table } from "@superstep/edge/table"
import type { Address } from "@superstep/protocol/http/address"
import type { Secret } from "@superstep/toolkit/config/settings"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { pause } from "@superstep/toolkit/exec/pause"
import { repeated } from "@superstep/toolkit/exec/repeated"
import type { Log } from "@superstep/toolkit/log/log"
import { runningSums } from "./running-sums.js"

export interface FoundEdge {
  /** Of its admin API. */
  readonly address: Address
  /** Whether callers are sent to it. */
  readonly isReady: boolean
}

export interface EdgesOptions {
  /** All edges that may carry requests, also those that are starting or stopping. */
  readonly addresses: () => Promise<readonly FoundEdge[]>
  /** The token that they share with the control plane. */
  readonly token: Secret
  /** Where callers reach one of them. */
  readonly url: string
  /** How long one that is ready may be silent. */
  readonly patienceMs?: number
  readonly log: Log
}

export interface Edges extends Edge {
  /** Ends the search for new edges. */
  close(): Promise<void>
}

const searchMs = 1000
// A ready edge that does not answer may have died a moment ago: then it is soon not ready.
const usualPatienceMs = 5000
const retryMs = 100
// An edge without callers answers in milliseconds, or is gone.
const shortMs = 500

export function severalEdges(options: EdgesOptions): Edges {
  const { addresses, token, url, patienceMs = usualPatienceMs, log } = options
  let last: Table | undefined
  /** The generation that each edge has, as far as we know. */
  const known = new Map<Address, number>()
  /** What each edge reported last. */
  const reports = new Map<Address, EdgeStatus>()
  /** Those that are ready and did not answer the last question. */
  let silentBefore: ReadonlySet<Address> = new Set()
  const sumsOf = runningSums()
  const adminOf = (address: Address): EdgeAdmin => ({ address, token })

  /**
   * Asks every edge; those that are ready until they answer, are ready no more, or were silent for too long (M1).
   * @returns  also those that are ready and did not answer
   */
  const askAll = async <T>(question: (admin: EdgeAdmin) => Promise<T>) => {
    const answers = new Map<Address, T>()
    const tried = new Set<Address>()
    for (const deadline = performance.now() + patienceMs; ; ) {
      // Also after the last answer: another one may have become ready meanwhile.
      const found = await addresses()
      const silent = found.filter((it) => !answers.has(it.address) && (it.isReady || !tried.has(it.address)))
      // The search itself may take long: only one that was asked has been silent.
      const allTried = silent.every(({ address }) => tried.has(address))
      const isOver = performance.now() > deadline || silent.every(({ address }) => silentBefore.has(address))
      if (allTried && isOver) {
        silentBefore = new Set(silent.map(({ address }) => address))
        return { found, answers, silent }
      }
      if (silent.some(({ address }) => tried.has(address))) await sleep(retryMs)
      await Promise.all(
        silent.map(async ({ address, isReady }) => {
          tried.add(address)
          const asked = question(adminOf(address)).catch(undefinedIfUnavailable)
          const answer = await (isReady && !silentBefore.has(address) ? asked : soonOrNever(asked))
          if (answer !== undefined) answers.set(address, answer)
        }),
      )
    }
  }

  const push = async (table: Table): Promise<{ generation: number }> => {
    // First, so that an edge that appears now gets this one.
    if (last === undefined || table.generation >= last.generation) last = table
    const { silent } = await askAll(async (admin) => {
      await pushTable(admin, table)
      known.set(admin.address, table.generation)
      return true
    })
    if (silent.length > 0) throw silenceOf(silent)
    return { generation: table.generation }
  }

  const status = async (): Promise<EdgeState> => {
    const { found, answers, silent } = await askAll(edgeStatus)
    const present = new Set(found.map(({ address }) => address))
    const all = [...answers].filter(([address]) => present.has(address))
    if (all.length === 0) throw new Unavailable("no edge runs", 1000)
    for (const kept of [known, reports])
      for (const address of kept.keys()) if (!present.has(address)) kept.delete(address)
    for (const [address, report] of all) reports.set(address, report)
    const ready = new Set(found.flatMap(({ address, isReady }) => (isReady ? [address] : [])))
    const generations = (which: readonly (readonly [Address, EdgeStatus])[]) => which.map(([, it]) => it.generation)
    const serving = all.filter(([address]) => ready.has(address))
    return {
      // One that gets no callers is brought up to date by itself (M2), or is stopping. A silent one uses the table that it took last.
      generation: Math.min(
        ...generations(serving.length > 0 ? serving : all),
        ...silent.map(({ address }) => known.get(address) ?? 0),
      ),
      newestGeneration: Math.max(...generations(all)),
      silent: silent.map(({ address }) => address),
      // One that is stopping may be slow to answer, and still carry what it has reported before.
      units: openTogether([...reports.values()].map(({ units }) => units)),
      deployments: sumsOf({
        reports: new Map(all.map(([address, { deployments }]) => [address, deployments])),
        present,
        deploymentIds: last && new Set(last.routes.map((route) => route.deployment_id)),
      }),
    }
  }

  /** Gives the last table to an edge that lacks it (M2). */
  const bringUpToDate = async ({ address, isReady }: FoundEdge): Promise<void> => {
    const table = last
    if (table === undefined || (isReady && known.get(address) === table.generation)) return
    const asked = await soonOrNever(edgeStatus(adminOf(address)).catch(undefinedIfUnavailable))
    if (asked === undefined) return
    if (asked.generation < table.generation) {
      await pushTable(adminOf(address), table)
      log.info({ address, generation: table.generation }, "an edge has got its table")
    }
    known.set(address, table.generation)
  }
  const search = repeated(async () => {
    try {
      await Promise.all((await addresses()).map(bringUpToDate))
    } catch (err) {
      log.warn({ err }, "an edge could not be brought up to date; it is tried again")
    }
  }, searchMs)

  return {
    url,
    whyNoCertificates:
      "SUPERSTEP_ACME_EMAIL: unset it; several edges speak plain HTTP, and whatever spreads callers over them (in Kubernetes an Ingress or a Gateway) holds the certificates of host names",
    push,
    status,
    ensure: async () => search.wake(),
    isAlive: async () => (await addresses()).some(({ isReady }) => isReady),
    close: search.stop,
  }
}

const silenceOf = (silent: readonly FoundEdge[]): Unavailable =>
  new Unavailable(`edges do not answer: ${silent.map(({ address }) => address).join(", ")}`, 1000)

async function soonOrNever<T>(asked: Promise<T>): Promise<T | undefined> {
  const over = new AbortController()
  try {
    return await Promise.race([asked, pause(shortMs, over.signal).then(() => undefined)])
  } finally {
    over.abort()
  }
}

function undefinedIfUnavailable(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}

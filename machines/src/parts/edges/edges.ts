/**
 * Several edges as one. Somebody else starts them and sends callers to those that are ready; we send tables and ask what is open.
 * M1 A push resolves when every edge that is ready uses the table. An edge that is gone, or gets no callers, delays nobody. One that is
 *    ready and silent, as on a dead node, makes a push fail; it is waited for once.
 * M2 An edge is ready only with a table: a new one, or one that has started again, gets the last within a second.
 * M3 What an edge that gets no more callers still carries is counted, and keys that are revoked end it there too.
 * M4 The sums of what they answered never fall while this process runs; that of a deployment ends with its route.
 * M5 Each edge has its own feed (`table-feed.ts`), which sends it the newest table until it has it: none waits for another one.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type EdgeStatus, edgeStatus } from "@superstep/edge/client"
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
import { TableFeed } from "./table-feed.js"

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
/** One that has been silent for longer hangs, or its node is dead: after that, units are stopped whatever it carries. */
export const unknownMs = 60_000

/** An edge that exists. */
interface FollowedEdge extends FoundEdge {
  readonly feed: TableFeed
}

export function severalEdges(options: EdgesOptions): Edges {
  const { addresses, token, url, patienceMs = usualPatienceMs, log } = options
  let last: Table | undefined
  /** As they were found last. */
  let followed: readonly FollowedEdge[] = []
  /** What each edge reported last. */
  const reports = new Map<Address, EdgeStatus>()
  const sumsOf = runningSums()

  /** Finds the edges, and offers each the last table. */
  const find = async (): Promise<readonly FollowedEdge[]> => {
    const found = await addresses()
    const known = new Map(followed.map(({ address, feed }) => [address, feed]))
    followed = found.map(({ address, isReady }) => {
      const feed = known.get(address) ?? new TableFeed({ admin: { address, token }, log })
      known.delete(address)
      if (last) feed.offer(last)
      return { address, isReady, feed }
    })
    for (const [address, feed] of known) {
      reports.delete(address)
      feed.stop()
    }
    return followed
  }

  /**
   * Waits for every edge that is ready: until it is done, is ready no more, or was silent for too long (M1). The others get a moment.
   * @param step  waits for one that is not done
   * @returns     all edges, and those that are ready and not done
   */
  const untilAll = async (
    isDone: (edge: FollowedEdge, all: readonly FollowedEdge[]) => boolean,
    step: (edge: FollowedEdge) => Promise<unknown>,
  ): Promise<{ readonly all: readonly FollowedEdge[]; readonly silent: readonly FollowedEdge[] }> => {
    const tried = new Set<Address>()
    const deadline = performance.now() + patienceMs
    for (;;) {
      // Also after the last answer: another one may have become ready meanwhile.
      const all = await find()
      const waiting = all.filter((it) => !isDone(it, all) && (it.isReady || !tried.has(it.address)))
      // The search itself may take long: only one that was tried has been silent.
      const isOver = (feed: TableFeed) => feed.silentMs >= patienceMs || performance.now() >= deadline
      if (waiting.every(({ address, feed }) => tried.has(address) && isOver(feed))) return { all, silent: waiting }
      const once = async (it: FollowedEdge) => {
        const isAgain = tried.has(it.address)
        tried.add(it.address)
        if (isAgain) await sleep(retryMs)
        await within(Math.max(shortMs, it.isReady ? patienceMs - it.feed.silentMs : 0), step(it))
      }
      await Promise.all(waiting.map(once))
    }
  }

  const push = async (table: Table): Promise<{ generation: number }> => {
    // First, so that an edge that appears now gets this one.
    if (last === undefined || table.generation >= last.generation) last = table
    const hasIt = ({ feed }: FollowedEdge) => feed.lag.has(table.generation)
    const isDone = (it: FollowedEdge, all: readonly FollowedEdge[]) =>
      hasIt(it) || (!it.isReady && all.some(({ isReady }) => isReady))
    const { all, silent } = await untilAll(isDone, async (it) => {
      // While a refusal stands, its table is not sent again.
      it.feed.throwRefusal()
      if (!hasIt(it)) await within(searchMs, it.feed.attempt())
      it.feed.throwRefusal()
    })
    if (silent.length > 0) throw silenceOf(silent)
    if (!all.some(hasIt)) throw noEdge()
    return { generation: table.generation }
  }

  const status = async (): Promise<EdgeState> => {
    const answers = new Map<Address, EdgeStatus>()
    const closed = new Set<Address>()
    const { all, silent } = await untilAll(
      ({ address }) => answers.has(address),
      async ({ address, feed }) => {
        const answer = await feed.ask(edgeStatus).catch((error: unknown) => {
          undefinedIfUnavailable(error)
          if (isRefused(error)) closed.add(address)
        })
        if (!answer) return
        answers.set(address, answer)
        feed.saw(answer.generation)
      },
    )
    const answered = all.flatMap(({ address, isReady }) => {
      const report = answers.get(address)
      return report ? [{ address, isReady, report }] : []
    })
    if (answered.length === 0) throw noEdge()
    for (const { address, report } of answered) reports.set(address, report)
    // After our start, one that gets no callers any more may be slow to say for the first time what it still carries (M3).
    const unknown = all.filter(
      ({ address, isReady, feed }) =>
        !isReady && !reports.has(address) && !closed.has(address) && feed.silentMs < unknownMs,
    )
    const generations = (which: readonly { readonly report: EdgeStatus }[]) =>
      which.map(({ report }) => report.generation)
    const ready = answered.filter(({ isReady }) => isReady)
    return {
      // One that gets no callers is brought up to date by itself (M5), or is stopping. A silent one uses the table that it took last.
      generation: Math.min(
        ...generations(ready.length > 0 ? ready : answered),
        ...silent.map(({ feed }) => feed.lag.generation ?? 0),
      ),
      newestGeneration: Math.max(...generations(answered)),
      silent: [...silent, ...unknown].map(({ address }) => address),
      // One that is stopping may be slow to answer, and still carry what it has reported before.
      units: openTogether([...reports.values()].map(({ units }) => units)),
      deployments: sumsOf({
        reports: new Map(answered.map(({ address, report }) => [address, report.deployments])),
        present: new Set(all.map(({ address }) => address)),
        deploymentIds: last && new Set(last.routes.map((route) => route.deployment_id)),
      }),
    }
  }

  /** An edge that gets no callers may have started again without a table (M2). */
  const askAgain = async ({ isReady, feed }: FollowedEdge): Promise<void> => {
    if (isReady) return
    const asked = await within(shortMs, feed.ask(edgeStatus).catch(undefinedIfUnavailable))
    if (asked) feed.saw(asked.generation)
  }
  const search = repeated(async () => {
    try {
      await Promise.all((await find()).map(askAgain))
    } catch (err) {
      log.warn({ err }, "edges could not be looked for; it is tried again")
    }
  }, searchMs)

  return {
    url,
    whyNoCertificates:
      "SUPERSTEP_ACME_EMAIL: unset it; several edges speak plain HTTP, and whatever spreads callers over them (in Kubernetes an Ingress or a Gateway) holds the certificates of host names",
    push,
    status,
    tables: async () => followed.map(({ address, isReady, feed }) => feed.lag.report(address, isReady)),
    ensure: async () => search.wake(),
    isAlive: async () => (await addresses()).some(({ isReady }) => isReady),
    close: async () => {
      await search.stop()
      for (const { feed } of followed) feed.stop()
    },
  }
}

const silenceOf = (silent: readonly FoundEdge[]): Unavailable =>
  new Unavailable(`edges do not answer: ${silent.map(({ address }) => address).join(", ")}`, 1000)

const noEdge = (): Unavailable => new Unavailable("no edge runs", 1000)

/** @returns  undefined when the time is over first */
async function within<T>(ms: number, asked: Promise<T>): Promise<T | undefined> {
  const over = new AbortController()
  try {
    return await Promise.race([asked, pause(ms, over.signal).then(() => undefined)])
  } finally {
    over.abort()
  }
}

/** No process listens there, as while an edge starts: then nothing is open on it. */
const isRefused = (error: unknown): boolean =>
  error instanceof Error && (error.cause as NodeJS.ErrnoException | undefined)?.code === "ECONNREFUSED"

function undefinedIfUnavailable(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}

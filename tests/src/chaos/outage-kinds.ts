/** What happens to the servers in `npm run chaos -- --outages`, by the name of its kind. */
import { setTimeout as sleep } from "node:timers/promises"
import { sql } from "@superstep/toolkit/db/sql"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import { heldWithin } from "@superstep/toolkit/testing/until"
import { type ConversationClient, clientsAtEach } from "./client.js"
import { type Conversation, conversationOf } from "./conversation.js"
import type { Installation } from "./installation.js"
import { spillBehindLock } from "./locked-log.js"
import { holdLock } from "./moments.js"
import { startBehindPoolers } from "./shared-sessions.js"

// A server on a busy machine must be able to renew three times in it.
export const leaseSeconds = 8
const leaseMs = leaseSeconds * 1000
// More than the 60 s of a statement of the engine.
const longMs = 80_000
// The conversations of a round, twice.
const othersMs = 45_000
// More than the calls of graphs that a server has connections for.
const writersOfServer = 6
const floodEvents = 100_000
// With a pause of 10 ms for each they take longer to delete than a statement may.
const slowCheckpoints = 8000
const removalMs = 150_000

export interface OutageRound {
  readonly installation: Installation
  readonly random: Random
  /** Part of the names of conversations that are had meanwhile. */
  readonly name: string
  /** Settles when the conversations that had begun before are over. */
  readonly others: Promise<unknown>
}

export interface OutageOutcome {
  /** The run whose row was locked: it may have been over before it could be cancelled. */
  readonly locked?: string | undefined
  /** Who had conversations meanwhile, to be judged as the others are. */
  readonly clients?: readonly ConversationClient[]
  /** What was broken, a sentence each. */
  readonly broken?: readonly string[]
}

interface Outage {
  /** Whether Postgres answers all the time: then no lease may end, and a run that is cancelled stops. */
  readonly isReached: boolean
  cause(round: OutageRound): Promise<OutageOutcome>
}

const cut = async ({ network }: Installation, how: "reset" | "silence", ms: number): Promise<OutageOutcome> => {
  network?.cut(how)
  await sleep(ms)
  network?.heal()
  return {}
}

const lockRun = async ({ db }: Installation, ms: number): Promise<OutageOutcome> => {
  const newest = sql`select run_id from runs where status = 'running' order by run_id desc limit 1`
  const locked = (await db.row<{ run_id: string }>(newest))?.run_id
  await using _lock = await holdLock(db, sql`select from runs where run_id = ${locked} for update`)
  await sleep(ms)
  return { locked }
}

/** Begins conversations at each server. */
const begin = async ({ installation: { servers }, random }: OutageRound, conversations: readonly Conversation[]) => {
  const clients = clientsAtEach(servers, conversations, random)
  const begun = await Promise.all(clients.map((client) => client.begin()))
  return { clients, ended: Promise.all(begun.map(({ ended }) => ended)) }
}

/** Whether a promise settles in time. */
const settles = (promise: Promise<unknown>, ms: number): Promise<boolean> =>
  Promise.race([promise.then(() => true), sleep(ms, false, { ref: false })])

export const outageTable = {
  /** Nothing happens, for longer than a lease. */
  calm: {
    isReached: true,
    cause: async () => {
      await sleep(leaseMs)
      return {}
    },
  },
  /** A transaction holds the row of a run for two leases. */
  "locked run": { isReached: true, cause: ({ installation }) => lockRun(installation, leaseMs * 2) },
  /** It holds it for longer than a statement of the engine may take. */
  "long lock": { isReached: true, cause: ({ installation }) => lockRun(installation, longMs) },
  /** A transaction holds the store, for which the graphs of more runs wait than a server has connections: the others go on. */
  "locked store": {
    isReached: true,
    cause: async (round) => {
      const { installation, name, others } = round
      const writer = (n: number) =>
        conversationOf({ name: `${name}, writer ${n}`, steps: 2, notes: true, isStreamed: false })
      const lock = await holdLock(installation.db, sql`lock table store`)
      await using _lock = lock
      const { clients } = await begin(
        round,
        Array.from({ length: writersOfServer }, (_, n) => writer(n)),
      )
      const isOver = await settles(others, othersMs)
      const broken = isOver ? [] : ["others: runs that use no store waited for a lock of the store"]
      return { clients, broken }
    },
  },
  /** Each server's worker says more small events at once than a server can log in a lease. */
  flood: {
    isReached: true,
    cause: async (round) => {
      const flood = conversationOf({ name: `${round.name}, flood`, steps: 1, stepMs: 0, tokens: floodEvents })
      const { clients, ended } = await begin(round, [flood])
      await ended
      return { clients }
    },
  },
  /** A transaction holds the log of events, while runs say small and large ones as fast as they can. */
  "locked log": {
    isReached: true,
    cause: async ({ installation, random }) => ({ broken: await spillBehindLock(installation, random) }),
  },
  /** Another server starts behind a pooler that shares its sessions among transactions. */
  "shared sessions": {
    isReached: true,
    cause: async ({ installation, random }) => ({ broken: await startBehindPoolers(installation, random) }),
  },
  /** A thread is deleted whose checkpoints take longer to delete than a statement may. */
  "slow removal": {
    isReached: true,
    cause: async ({ installation: { db, servers } }) => {
      const [server] = servers
      const headers = { "content-type": "application/json" }
      const created = await fetch(`${server?.url}/threads`, { method: "POST", headers, body: "{}" })
      const { thread_id } = (await created.json()) as { thread_id: string }
      await db.transaction(async (tx) => {
        await tx.run(sql`
          create or replace function chaos_slow() returns trigger language plpgsql as $$
          begin
            if old.metadata ? 'slow' then perform pg_sleep(0.01); end if;
            return old;
          end
          $$`)
        await tx.run(sql`
          create or replace trigger chaos_slow before delete on checkpoints for each row execute function chaos_slow()`)
        await tx.run(sql`
          insert into checkpoints (thread_id, checkpoint_id, checkpoint, metadata)
          select ${thread_id}, lpad(n::text, 12, '0'), '{}', '{"slow": true}' from generate_series(1, ${slowCheckpoints}) n`)
      })
      const { status } = await fetch(`${server?.url}/threads/${thread_id}`, { method: "DELETE" })
      const broken = status === 204 ? [] : [`left: the removal of a long thread was answered with ${status}`]
      const isGone = async () => !(await db.row(sql`select from checkpoints where thread_id = ${thread_id} limit 1`))
      if (!(await heldWithin(isGone, removalMs)))
        broken.push(`left: checkpoints of a removed thread are there after ${removalMs / 1000} s`)
      return { broken }
    },
  },
  /** No server reaches Postgres for longer than a lease; its connections break. */
  reset: { isReached: false, cause: ({ installation }) => cut(installation, "reset", leaseMs * 1.5) },
  /** The same for a moment, a few times: so short that servers go on to judge the leases of others. */
  short: {
    isReached: false,
    cause: async ({ installation, random }) => {
      for (let times = 0; times < 4; times++) {
        await cut(installation, random.pick(["reset", "silence"]), leaseMs * 0.2)
        await sleep(leaseMs * (0.2 + random.next() * 0.3))
      }
      return {}
    },
  },
  /** As `reset`, and nobody hears of it. */
  silence: { isReached: false, cause: ({ installation }) => cut(installation, "silence", leaseMs * 1.5) },
  /** Postgres is killed and started again. */
  restart: {
    isReached: false,
    cause: async ({ installation: { postgres }, random }) => {
      await postgres.kill()
      await sleep(random.pick([0, 300, leaseMs]))
      await postgres.start()
      return {}
    },
  },
  /** Open connections hang for good, new ones work. A server notices when its statements take too long: a minute. */
  "vanished host": {
    isReached: false,
    cause: async ({ installation: { network } }) => {
      network?.cut("vanish")
      return {}
    },
  },
} satisfies Readonly<Record<string, Outage>>

export type OutageKind = keyof typeof outageTable

export const outageKinds = Object.keys(outageTable) as readonly OutageKind[]

/** @returns  the kind of this name; all for `all`; undefined for any other text */
export const kindsOf = (name: string): readonly OutageKind[] | undefined =>
  name === "all" ? outageKinds : outageKinds.find((kind) => kind === name) && [name as OutageKind]

export const outageOf = (kind: OutageKind): Outage => outageTable[kind]

/**
 * Faults that are aimed at one statement of the servers, one notification, or sessions that listen, and how often each hit. A kill comes
 * by chance between a commit and its reply; an aim is there.
 */
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import type { Fault, PostgresProxy } from "@superstep/toolkit/testing/postgres-proxy"
import type { Random } from "@superstep/toolkit/testing/seeded-random"

export interface NamedAim {
  readonly name: string
  readonly fault: Fault
  /** Whether servers notice it only when a statement's limit is over: a minute. */
  readonly isLong?: true
  /** Whether the statement comes only after a kill: one such aim waits during all of a round. */
  readonly isRare?: boolean
}

/** How often an aim was waited for, and how often it hit. */
export interface AimTally {
  readonly attempts: number
  readonly hits: number
}

// What the servers send, by a part of its text that nothing else has.
const statements = {
  "the creation of a run": /\bbegin_run\(/,
  "a claim": /set status = 'running', attempt/,
  "a commit of writes": /\bcommit_attempts\(/,
  "a renewal of a lease": /insert into servers/,
  "a release of a run": /\brequeue_run\(/,
  "a stop of a run": /\bstop_run\(/,
  "a due cron": /update crons set taken_until = (?:superstep_)?now\(\)/,
  "a COMMIT": /^commit$/,
}

const named = (words: string, kind: "lose reply" | "break request"): NamedAim[] =>
  Object.entries(statements).map(([statement, at]) => ({
    name: `${words} ${statement}`,
    fault: { kind, at },
    isRare: at === statements["a release of a run"],
  }))

const swallowed = (direction: "to server" | "to client"): NamedAim[] =>
  (["a commit of writes", "the creation of a run", "a claim"] as const).map((statement) => ({
    name: `swallow ${direction} from ${statement} on`,
    fault: { kind: "swallow", direction, at: statements[statement] },
    isLong: true,
  }))

const anyChannel = /./

// Each must be hit in a campaign that uses it.
const allAims: readonly NamedAim[] = [
  ...named("lose the reply of", "lose reply"),
  ...named("break", "break request"),
  { name: "hold a notification for 2 s", fault: { kind: "hold notification", at: anyChannel, forMs: 2000 } },
  {
    name: "lose a notification",
    fault: { kind: "hold notification", at: anyChannel, forMs: Number.POSITIVE_INFINITY },
  },
  { name: "cut what listens", fault: { kind: "cut listeners" } },
  {
    name: "single bytes from a commit of writes on",
    fault: { kind: "slice", at: statements["a commit of writes"], bytes: 4096 },
  },
  {
    name: "single bytes from the creation of a run on",
    fault: { kind: "slice", at: statements["the creation of a run"], bytes: 4096 },
  },
  {
    name: "swallow to server from a renewal of a lease on",
    fault: { kind: "swallow", direction: "to server", at: statements["a renewal of a lease"] },
  },
  {
    name: "swallow to client from a renewal of a lease on",
    fault: { kind: "swallow", direction: "to client", at: statements["a renewal of a lease"] },
  },
  ...swallowed("to server"),
  ...swallowed("to client"),
]

export const aimsOf = (which: "none" | "quick" | "all"): readonly NamedAim[] =>
  allAims.filter(({ isLong }) => which === "all" || (which === "quick" && !isLong))

// A statement that is common comes within a fraction of it; for a rare one there are other rounds.
const waitMs = 3000

/** Tries one aim after the other, each as often as the others; those that are rare one a round. */
export class Aiming {
  readonly tally = new Map<string, AimTally>()
  readonly #proxy: PostgresProxy
  readonly #frequent: NamedAim[]
  readonly #rare: NamedAim[]
  readonly #random: Random

  constructor(proxy: PostgresProxy, aims: readonly NamedAim[], random: Random) {
    this.#proxy = proxy
    this.#random = random
    this.#frequent = shuffled(
      aims.filter(({ isRare }) => !isRare),
      random,
    )
    this.#rare = aims.filter(({ isRare }) => isRare)
    for (const { name } of aims) this.tally.set(name, { attempts: 0, hits: 0 })
  }

  /** Aims until `stopped`; then what was swallowed is reset. */
  async during(stopped: AbortSignal): Promise<void> {
    const rare = this.#aim(nextOf(this.#rare), stopped)
    while (!stopped.aborted) {
      await this.#aim(nextOf(this.#frequent), AbortSignal.any([stopped, AbortSignal.timeout(waitMs)]))
      await sleep(this.#random.between(50, 400), undefined, { signal: stopped }).catch(() => undefined)
    }
    await rare
    this.#proxy.heal()
  }

  async #aim(next: NamedAim | undefined, over: AbortSignal): Promise<void> {
    if (!next) return
    const aim = this.#proxy.aim(next.fault)
    await Promise.race([aim.hit, once(over, "abort")])
    aim.disarm()
    const { attempts, hits } = this.tally.get(next.name) ?? { attempts: 0, hits: 0 }
    this.tally.set(next.name, { attempts: attempts + 1, hits: hits + (aim.isHit ? 1 : 0) })
  }
}

/** The first one, which becomes the last. */
function nextOf(queue: NamedAim[]): NamedAim | undefined {
  const next = queue.shift()
  if (next) queue.push(next)
  return next
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const rest = [...items]
  return items.flatMap(() => rest.splice(random.between(0, rest.length - 1), 1))
}

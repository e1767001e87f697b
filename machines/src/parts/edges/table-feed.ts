/**
 * Gives one edge its tables. Each edge has a feed of its own, so one that is slow, hangs or is gone delays no other one.
 * F1 One table at a time goes to the edge, always the newest. F2 An edge that missed tables gets the newest as soon as it answers again.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type EdgeAdmin, pushTable } from "@superstep/edge/client"
import type { EdgeTable } from "@superstep/edge/port"
import type { Table } from "@superstep/edge/table"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"

/** How far an edge is behind. */
export class EdgeLag {
  #wanted = 0
  #has: number | undefined
  /** Since when a newer table than its own waits for it, on the monotonic clock. */
  #since: number | undefined

  /** The edge is to have this table. */
  wants(generation: number): void {
    this.#wanted = Math.max(this.#wanted, generation)
    this.#note()
  }

  /** The edge said that it uses this table: a lower one than before when it has started again without its file. */
  uses(generation: number): void {
    this.#has = generation
    this.#note()
  }

  /** Of the table that it confirmed last; undefined: it has confirmed none to this process. */
  get generation(): number | undefined {
    return this.#has
  }

  /** Whether it uses this table, or a newer one of ours. One above the wanted table is of another control plane. */
  has(generation: number): boolean {
    return this.#has !== undefined && this.#has >= generation && this.#has <= this.#wanted
  }

  report(edge: string, isReady: boolean): EdgeTable {
    const behindMs = this.#since === undefined ? 0 : performance.now() - this.#since
    return { edge, isReady, generation: this.#has, behindMs }
  }

  #note(): void {
    const isCurrent = this.#wanted === 0 || this.has(this.#wanted)
    this.#since = isCurrent ? undefined : (this.#since ?? performance.now())
  }
}

// One that has just died, or was started a moment ago, is soon known; one that stays silent is asked less often.
const soonMs = 100
const laterMs = 1000
const stillNewMs = 5000

export class TableFeed {
  readonly lag = new EdgeLag()
  readonly #admin: EdgeAdmin
  readonly #log: Log
  /** The loop runs: the edge lacks a table. */
  #isBringing = false
  #isStopped = false
  #wanted: Table | undefined
  /** Why the edge refused the wanted table. It is not sent again before another one is wanted, or the edge was asked again. */
  #refusal: unknown
  /** Since when no question was answered, on the monotonic clock. */
  #silentSince: number | undefined
  #waiting: (() => void)[] = []

  constructor({ admin, log }: { readonly admin: EdgeAdmin; readonly log: Log }) {
    this.#admin = admin
    this.#log = log
  }

  /** The edge is to have this table; an older one than the wanted one is ignored. */
  offer(table: Table): void {
    if (table === this.#wanted || table.generation < (this.#wanted?.generation ?? 0)) return
    this.#wanted = table
    this.#refusal = undefined
    this.lag.wants(table.generation)
    this.#wake()
  }

  /** Asks the edge something, and remembers for how long it has not answered. */
  async ask<T>(question: (admin: EdgeAdmin) => Promise<T>): Promise<T> {
    this.#silentSince ??= performance.now()
    try {
      const answer = await question(this.#admin)
      this.#silentSince = undefined
      return answer
    } catch (error) {
      // What refuses is not silent.
      if (!(error instanceof Unavailable)) this.#silentSince = undefined
      throw error
    }
  }

  /** What the edge said of its table: it may have lost it. */
  saw(generation: number): void {
    this.lag.uses(generation)
    this.#refusal = undefined
    this.#wake()
  }

  /** Resolves when the push under way, or else the next one, has ended. Call it while the edge lacks a table and has not refused it. */
  attempt(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** @throws  why the edge refused the wanted table, if it did */
  throwRefusal(): void {
    if (this.#refusal !== undefined) throw this.#refusal
  }

  /** For how long it has answered nothing, in milliseconds. */
  get silentMs(): number {
    return this.#silentSince === undefined ? 0 : performance.now() - this.#silentSince
  }

  /** Ends the loop after the push under way. */
  stop(): void {
    this.#isStopped = true
  }

  #wake(): void {
    if (!this.#isBringing) void this.#bring()
  }

  async #bring(): Promise<void> {
    this.#isBringing = true
    for (let table = this.#lacking(); table; table = this.#lacking()) {
      const isSilent = await this.#push(table)
      const waiting = this.#waiting
      this.#waiting = []
      for (const resolve of waiting) resolve()
      // It keeps no process alive: who pushes waits for itself.
      if (isSilent) await sleep(this.silentMs < stillNewMs ? soonMs : laterMs, undefined, { ref: false })
    }
    this.#isBringing = false
  }

  /** @returns  whether it did not answer */
  async #push(table: Table): Promise<boolean> {
    try {
      await this.ask((admin) => pushTable(admin, table))
      this.lag.uses(table.generation)
      return false
    } catch (err) {
      this.#log.debug({ err, address: this.#admin.address, generation: table.generation }, "an edge lacks a table")
      if (err instanceof Unavailable) return true
      if (table === this.#wanted) this.#refusal = err
      return false
    }
  }

  #lacking(): Table | undefined {
    const table = this.#wanted
    if (this.#isStopped || this.#refusal !== undefined || !table || this.lag.has(table.generation)) return undefined
    return table
  }
}

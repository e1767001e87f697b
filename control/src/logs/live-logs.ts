/**
 * New lines for any number of readers. One notification causes one read: a deployment's newest lines are kept in memory
 * while somebody follows it, and its readers take them from there, each at its own pace.
 * F1 a reader gets every line of its log once, in order, also after a pause (it returns with the last id it has).
 * F2 a slow reader costs no memory: it asks for the next lines when it has sent the last, and reads from the table what has
 * left memory by then. F3 the database is not queried while there are no new lines. F4 `close` ends all readers.
 */
import { setMaxListeners } from "node:events"
import type { Database } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import { type LineFilter, type LogRow, linesAfter, logsChannel, newestLine } from "./queries.js"

// Many screen pages; a reader further behind than this reads the table.
const keptLines = 1000
const keptCharacters = 1024 * 1024
const pageLines = 500

/** The newest lines of one deployment. */
class Topic {
  /** Resolves when the first position in memory is known. */
  readonly ready: Promise<void>
  readonly waiting = new Set<() => void>()
  readonly #db: Database
  readonly #deploymentId: string
  /** Every line with an id above this, up to the last one read, is in `#lines`. */
  #from = 0
  #lines: LogRow[] = []
  #characters = 0
  #reading: Promise<void> | undefined
  #isStale = false
  readers = 0
  /** Rises with each change. */
  version = 0

  constructor(db: Database, deploymentId: string) {
    this.#db = db
    this.#deploymentId = deploymentId
    this.ready = newestLine(db, deploymentId).then((newest) => {
      this.#from = newest
    })
  }
  get from(): number {
    return this.#from
  }
  get newest(): number {
    return this.#lines.at(-1)?.log_line_id ?? this.#from
  }

  /** @returns  the lines after the given one, or undefined when some of them are no longer in memory */
  after(lineId: number): readonly LogRow[] | undefined {
    if (lineId < this.#from) return undefined
    return this.#lines.filter(({ log_line_id }) => log_line_id > lineId).slice(0, pageLines)
  }

  /** Reads new lines; when called during a read, it reads once more. */
  refresh(): Promise<void> {
    this.#isStale = true
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readAll(): Promise<void> {
    await this.ready
    while (this.#isStale) {
      this.#isStale = false
      const rows = await linesAfter(this.#db, this.#deploymentId, { after: this.newest, limit: pageLines })
      this.#isStale ||= rows.length === pageLines
      if (rows.length > 0) this.#add(rows)
    }
  }

  #add(rows: readonly LogRow[]): void {
    this.#lines.push(...rows)
    for (const { message } of rows) this.#characters += message.length
    let gone = 0
    for (const { log_line_id, message } of this.#lines) {
      if (this.#lines.length - gone <= keptLines && this.#characters <= keptCharacters) break
      this.#characters -= message.length
      this.#from = log_line_id
      gone++
    }
    this.#lines.splice(0, gone)
    this.version++
    for (const wake of this.waiting) wake()
  }
}

export interface Follower {
  /**
   * The next lines. Empty when none arrived within `waitMs`.
   * @returns  undefined when there will be no more: it was closed
   */
  next(waitMs: number): Promise<readonly LogRow[] | undefined>
  close(): void
}

export class LiveLogs {
  readonly #db: Database
  readonly #log: Log
  readonly #topics = new Map<string, Topic>()
  readonly #closing = new AbortController()
  #subscription: Promise<Subscription> | undefined

  constructor({ db, log }: { db: Database; log: Log }) {
    this.#db = db
    this.#log = log
    // Each reader adds a listener.
    setMaxListeners(0, this.#closing.signal)
  }

  /**
   * @param after  the id of the last line that the reader has; without it, only lines from now on
   * @throws       the database's error
   */
  async follow(filter: LineFilter, after?: number): Promise<Follower> {
    await this.#listen()
    const { deploymentId } = filter
    const topic = this.#join(deploymentId)
    const aborter = new AbortController()
    const close = () => {
      if (aborter.signal.aborted) return
      aborter.abort()
      this.#leave(deploymentId, topic)
    }
    try {
      await topic.refresh()
    } catch (error) {
      close()
      throw error
    }
    const over = AbortSignal.any([aborter.signal, this.#closing.signal])
    // An id beyond the newest would hide lines until ids have reached it.
    let place = Math.min(after ?? topic.newest, topic.newest)

    const take = async (): Promise<readonly LogRow[]> => {
      for (;;) {
        const rows = topic.after(place) ?? (await this.#past(topic, deploymentId, place))
        place = rows.at(-1)?.log_line_id ?? Math.max(place, topic.from)
        const wanted = rows.filter((row) => matches(filter, row))
        if (wanted.length > 0 || rows.length === 0 || over.aborted) return wanted
      }
    }
    const next = async (waitMs: number) => {
      if (over.aborted) return undefined
      const { version } = topic
      const rows = await take()
      if (rows.length > 0) return rows
      // Lines that arrived in between are returned at once.
      if (version === topic.version) await untilWoken(topic.waiting, waitMs, over)
      return over.aborted ? undefined : take()
    }
    return { next, close }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    // The callers of a failed subscription got its error; then there is nothing to close.
    const subscription = await this.#subscription?.catch(() => undefined)
    await subscription?.close()
  }

  /** The lines between a reader's position and the oldest line in memory, as far as the table still has them. */
  async #past(topic: Topic, deploymentId: string, after: number): Promise<readonly LogRow[]> {
    const { from } = topic
    const rows = await linesAfter(this.#db, deploymentId, { after, limit: pageLines })
    return rows.length > 0 ? rows : (topic.after(from) ?? [])
  }

  #join(deploymentId: string): Topic {
    const topic = this.#topics.get(deploymentId) ?? new Topic(this.#db, deploymentId)
    this.#topics.set(deploymentId, topic)
    topic.readers++
    return topic
  }

  #leave(deploymentId: string, topic: Topic): void {
    topic.readers--
    if (topic.readers === 0) this.#topics.delete(deploymentId)
  }

  #listen(): Promise<Subscription> {
    const all = () => {
      for (const topic of this.#topics.values()) this.#refresh(topic)
    }
    const one = (deploymentId: string) => {
      const topic = this.#topics.get(deploymentId)
      if (topic) this.#refresh(topic)
    }
    this.#subscription ??= this.#db.listen(logsChannel, one, all).catch((error: unknown) => {
      this.#subscription = undefined
      throw error
    })
    return this.#subscription
  }

  #refresh(topic: Topic): void {
    const note = (err: unknown) =>
      this.#log.warn({ err }, "new log lines could not be read; the next read includes them")
    topic.refresh().catch(note)
  }
}

/** Pure. */
const matches = (filter: LineFilter, row: LogRow): boolean =>
  (filter.revisionId === undefined || row.revision_id === filter.revisionId.toLowerCase()) &&
  (filter.stream === undefined || row.stream === filter.stream) &&
  (filter.level === undefined || row.level === filter.level) &&
  (filter.runId === undefined || row.run_id === filter.runId.toLowerCase()) &&
  !(filter.hidesPlatform && row.is_platform && ["DEBUG", "INFO"].includes(row.level)) &&
  (filter.query === undefined || row.message.toLowerCase().includes(filter.query.toLowerCase()))

function untilWoken(waiting: Set<() => void>, waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      waiting.delete(done)
      signal.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, waitMs)
    waiting.add(done)
    signal.addEventListener("abort", done, { once: true })
    if (signal.aborted) done()
  })
}

/**
 * Fires crons when they are due. It sleeps on one timer until the next due time, and looks again when a plan or the
 * serving revision changes, after a lost connection, and once in a while in case a notification was lost or the
 * database's clock runs differently from ours. One pass runs at a time; `stop` waits for it.
 */
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Runs } from "../runs/operations.js"
import { fireCron } from "./firing.js"
import { type DueCron, findDueCrons, nextDueMs } from "./queries.js"

// Crons are due to the minute; a sweep is only the safety net, and a server that sleeps should ask little.
const usualSweepMs = 60_000

// After a failure: soon, since a due time waits, and not at once, since the database may be away.
const retryMs = 5_000

// Many are due at a full hour. Several at a time, few enough to leave connections for requests.
const atATime = 4

// So many that fail for reasons of their own in one pass are hardly that.
const mostFailures = 100

export class CronLoop {
  readonly #runs: Runs
  readonly #sweepMs: number
  #subscriptions: Subscription[] = []
  #timer: NodeJS.Timeout | undefined
  #pass: Promise<void> | undefined
  #isWoken = false
  #isStopped = false

  constructor(runs: Runs, { sweepMs = usualSweepMs }: { sweepMs?: number } = {}) {
    this.#runs = runs
    this.#sweepMs = sweepMs
  }

  async start(): Promise<void> {
    const { db } = this.#runs
    const wake = () => this.wake()
    this.#subscriptions = await Promise.all([
      db.listen("crons_changed", wake, wake),
      db.listen("serving_changed", wake, wake),
    ])
    this.wake()
  }

  /** Something may be due: looks now, or once more when it is looking already. */
  wake(): void {
    this.#isWoken = true
    if (this.#isStopped) return
    this.#pass ??= this.#fireAll().finally(() => {
      this.#pass = undefined
      if (this.#isWoken) this.wake()
    })
  }

  /** Fires nothing more; resolves when the pass under way is over. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await Promise.all(this.#subscriptions.map((subscription) => subscription.close()))
    await this.#pass
  }

  async #fireAll(): Promise<void> {
    const { db, claimer, log } = this.#runs
    let sleepMs = this.#sweepMs
    try {
      // One that failed is due still: it waits for the retry, and those behind it need not.
      const failed: string[] = []
      while (this.#isWoken && !this.#isStopped) {
        this.#isWoken = false
        const due = await findDueCrons(db, claimer.revisionId, { limit: atATime, except: failed })
        const fired = await Promise.all(due.map((cron) => this.#fire(cron)))
        // They are many when it is not the cron's fault, as when the database is away.
        failed.push(...due.filter((_, n) => !fired[n]).map(({ cron_id }) => cron_id))
        if (failed.length >= mostFailures) break
        if (due.length > 0) this.#isWoken = true
      }
      if (failed.length > 0) throw new Error(`${failed.length} crons could not be fired`)
      sleepMs = Math.min(sleepMs, (await nextDueMs(db, claimer.revisionId)) ?? sleepMs)
    } catch (err) {
      sleepMs = Math.min(sleepMs, retryMs)
      log.warn({ err }, "crons that are due wait for the next try")
    }
    this.#sleep(sleepMs)
  }

  /** @returns whether it is done with */
  async #fire(cron: DueCron): Promise<boolean> {
    try {
      await fireCron(this.#runs, cron)
      return true
    } catch (err) {
      this.#runs.log.warn({ err, cron_id: cron.cron_id }, "a cron could not be fired")
      return false
    }
  }

  #sleep(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#isStopped) return
    this.#timer = setTimeout(() => this.wake(), Math.max(1, ms))
    this.#timer.unref()
  }
}

/**
 * Fires crons when they are due. It sleeps on one timer until the next due time. It also looks when a plan or the serving
 * revision changes, after a lost connection, and regularly, in case a notification was lost or the database's clock differs
 * from ours. One pass runs at a time; `stop` waits for it.
 */
import type { Subscription } from "@superstep/toolkit/db/listen"
import { type Clock, realClock } from "@superstep/toolkit/time/clock"
import type { Runs } from "../runs/operations.js"
import { fireCron } from "./firing.js"
import { type DueCron, giveBackCron, nextDueMs, takeDueCrons } from "./queries.js"

// Crons are due to the minute; a sweep is only a safety net, and an idle server should send few statements.
const sweepMs = 60_000

// A due cron that another transaction has locked is left out, and is still due.
const lockedMs = 50

// After a failure: soon, since a cron is due, but not at once, since the database may be unavailable.
const retryMs = 5_000

// Many crons are due at a full hour: fire several at a time, but few enough to leave connections for requests.
const atATime = 4

// Firing takes some milliseconds. If a server is killed meanwhile, its crons are delayed by this time.
const holdMs = 10_000

// So many failures in one pass probably have a common cause.
const maxFailures = 100

export class CronLoop {
  readonly #runs: Runs
  readonly #clock: Clock
  #subscriptions: Subscription[] = []
  #cancelTimer: () => void = () => undefined
  #pass: Promise<void> | undefined
  #isWoken = false
  #isStopped = false

  constructor(runs: Runs, { clock = realClock }: { clock?: Clock } = {}) {
    this.#runs = runs
    this.#clock = clock
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

  /** Looks for due crons now; if a pass is running, it looks once more afterwards. */
  wake(): void {
    this.#isWoken = true
    if (this.#isStopped) return
    this.#pass ??= this.#fireAll().finally(() => {
      this.#pass = undefined
      if (this.#isWoken) this.wake()
    })
  }

  /** Stops firing; resolves when the present pass is over. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    await Promise.all(this.#subscriptions.map((subscription) => subscription.close()))
    await this.#pass
  }

  async #fireAll(): Promise<void> {
    const { db, claimer, log } = this.#runs
    let sleepMs = sweepMs
    try {
      // A failed cron is still due. It waits for the retry, while later crons are fired.
      const failed: string[] = []
      while (this.#isWoken && !this.#isStopped) {
        this.#isWoken = false
        const due = await takeDueCrons(db, claimer.revisionId, { limit: atATime, except: failed, holdMs })
        const fired = await Promise.all(due.map((cron) => this.#fire(cron)))
        // Many failures have a common cause, such as an unavailable database.
        failed.push(...due.filter((_, n) => !fired[n]).map(({ cron_id }) => cron_id))
        if (failed.length >= maxFailures) break
        if (due.length > 0) this.#isWoken = true
      }
      if (failed.length > 0) throw new Error(`${failed.length} crons could not be fired`)
      sleepMs = Math.min(sleepMs, (await nextDueMs(db, claimer.revisionId)) ?? sleepMs)
    } catch (err) {
      sleepMs = Math.min(sleepMs, retryMs)
      log.warn({ err }, "due crons could not be read, will retry")
    }
    this.#sleep(sleepMs)
  }

  /** @returns whether the cron was handled */
  async #fire(cron: DueCron): Promise<boolean> {
    try {
      await fireCron(this.#runs, cron)
      return true
    } catch (err) {
      this.#runs.log.warn({ err, cron_id: cron.cron_id }, "the run of a cron could not be created")
      // If this fails too, other servers can take the cron after `holdMs`.
      await giveBackCron(this.#runs.db, cron).catch((err: unknown) =>
        this.#runs.log.debug({ err }, "a cron could not be released, other servers skip it for some seconds"),
      )
      return false
    }
  }

  #sleep(ms: number): void {
    this.#cancelTimer()
    if (this.#isStopped) return
    this.#cancelTimer = this.#clock.after(Math.max(lockedMs, ms), () => this.wake())
  }
}

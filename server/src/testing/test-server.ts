/** An agent server without HTTP: queue, streams and scripted workers on a real database. */
import { randomUUID } from "node:crypto"
import { fileURLToPath } from "node:url"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { openDatabase } from "@superstep/toolkit/db/database"
import { Hints } from "@superstep/toolkit/db/hints"
import { createLog } from "@superstep/toolkit/log/log"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { Journal } from "../checkpoints/journal.js"
import { CronLoop } from "../crons/cron-loop.js"
import { openLeases } from "../databases.js"
import { resultEvent } from "../events/event.js"
import { Streams } from "../events/streams.js"
import type { Subscriber } from "../events/topic.js"
import { createMetrics, type Metrics } from "../metrics/metrics.js"
import { ClaimLoop, localServer } from "../runs/claim-loop.js"
import { Executor } from "../runs/executor.js"
import { Known } from "../runs/known.js"
import { observeWith } from "../runs/observer.js"
import type { Runs } from "../runs/operations.js"
import { Turns } from "../runs/turns.js"
import { leaseTimes } from "../servers/lease-times.js"
import { Peers } from "../servers/peers.js"
import { SpanWriter } from "../tracing/span-writer.js"
import type { Tracing } from "../tracing/tracing.js"
import { createDeliveryLoop } from "../webhooks/delivery-loop.js"
import { webhookObserver } from "../webhooks/observer.js"
import type { WebhookSettings } from "../webhooks/settings.js"
import { testWebhooks } from "../webhooks/testing/settings.js"
import { ScriptedWorkers } from "./scripted-workers.js"

export const migrations = fileURLToPath(new URL("../../src/migrations", import.meta.url))

/** A database of its own, migrated, which ends with the test. */
export const serverDatabase = (): Promise<Database> => freshDatabase({ migrations })

/** Connections of a test server, without those for leases and notifications. */
const testPoolSize = 4

/** Takes all connections of a server's pool. @returns  gives them back */
export async function occupyPool({ db }: TestServer): Promise<() => Promise<unknown>> {
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let occupied = 0
  const hold = () =>
    db.transaction(() => {
      occupied++
      return released
    })
  const held = Array.from({ length: testPoolSize }, hold)
  await until(() => occupied === testPoolSize, { what: "all connections are taken" })
  return () => {
    release()
    return Promise.all(held)
  }
}

export interface TestServer extends Runs, AsyncDisposable {
  readonly workers: ScriptedWorkers
  readonly leases: Db
  readonly journal: Journal
  readonly loop: ClaimLoop
  readonly peers: Peers
  readonly hints: Hints
  readonly metrics: Metrics
  readonly tracing: Tracing | undefined
  readonly spans: SpanWriter
  readonly crons: CronLoop
  readonly deliveries: { stop(): Promise<void> } | undefined
  readonly webhooks: WebhookSettings
  /** Stops without releasing runs, like a killed process. */
  crash(): Promise<void>
}

export interface TestServerOptions {
  readonly slots?: number
  readonly leaseMs?: number
  /** How long the server must be connected to the database before it judges leases; 0 by default. */
  readonly graceMs?: number
  readonly maxGapMs?: number
  readonly revisionId?: string
  readonly serverId?: string
  /** Interval of polling the queue. */
  readonly sweepMs?: number
  /** Interval of polling events of other servers. */
  readonly eventSweepMs?: number
  readonly runTimeoutMs?: number
  readonly stopGraceMs?: number
  readonly tracing?: Tracing
  readonly maxWaitingRuns?: number
  readonly threadTtlMs?: number
  /** How long a run waits for slow clients. */
  readonly slowReaderBudgetMs?: number
  readonly webhooks?: Partial<WebhookSettings>
  /** How long a statement of the engine may take. */
  readonly statementMs?: number
  /** Time limit of a webhook call. */
  readonly callTimeoutMs?: number
  /** What the server uses in place of its database. */
  readonly wrapDb?: (db: Database) => Database
}

/** Starts a server on a test's database. Several servers may share one database. */
export async function startTestServer(shared: Database, options: TestServerOptions = {}): Promise<TestServer> {
  const log = createLog({ process: "server", level: "silent" })
  const engineMs = options.statementMs === undefined ? {} : { statementMs: options.statementMs }
  const own = openDatabase({ uri: shared.uri, poolSize: testPoolSize, ...engineMs, log })
  const db = options.wrapDb?.(own) ?? own
  const { slots = 10, leaseMs = 30_000, graceMs = 0, revisionId = null, serverId = randomUUID() } = options
  const { runTimeoutMs = 0, stopGraceMs = 0, threadTtlMs = 120_000, slowReaderBudgetMs = 10_000 } = options
  const { tracing, maxWaitingRuns = 0, sweepMs = 50 } = options
  const leases = openLeases({ uri: shared.uri, leaseMs, log })
  const { maxGapMs = leaseTimes(leaseMs).maxGapMs } = options
  const webhooks = { ...testWebhooks, ...options.webhooks }
  const claimer = { serverId, revisionId, leaseMs }
  const workers = new ScriptedWorkers({ slots })
  const hints = new Hints({ db, log })
  const peers = new Peers({ db, log, hints, self: claimer })
  const events = options.eventSweepMs === undefined ? {} : { sweepMs: options.eventSweepMs }
  const streams = new Streams({ db, hints, log, serverId, threadTtlMs, slowReaderBudgetMs, ...events })
  const journal = new Journal({ db, log })
  const metrics = createMetrics()
  const spans = new SpanWriter({ db, log, hasContent: true })
  const observers = [...metrics.observers, spans.observer, ...(tracing ? [tracing.observer] : [])]
  const observer = observeWith(observers, log)
  const parts = { db, leases, log, streams, claimer, peers }
  const executor = new Executor({ ...parts, workers, journal, runTimeoutMs, stopGraceMs, observer })
  const loop = new ClaimLoop({ ...parts, executor, hints, sweepMs, maxGapMs, graceMs })
  workers.onFree(() => loop.slotFreed())
  await streams.start()
  executor.startRenewing()
  await peers.start(localServer(loop, executor))
  await loop.start()
  const turns = new Turns({ maxWaitMs: 60_000 })
  const known = new Known()
  const shares = { ...parts, workers, executor, hints, webhooks, turns, known, maxWaitingRuns }
  const crons = new CronLoop(shares)
  await crons.start()
  const { callTimeoutMs: timeoutMs = 10_000 } = options
  const deliveries = createDeliveryLoop({ db, log, settings: webhooks, revisionId, timeoutMs })
  if (deliveries) observers.push(webhookObserver({ deliveries, hints, revisionId }))
  await deliveries?.start()
  const stop = async () => {
    await crons.stop()
    await loop.stop()
    await peers.leave()
    await workers.stop()
    journal.close()
    await executor.close()
    await spans.close()
    await peers.close()
    await deliveries?.stop()
    await streams.close()
    await hints.close()
    await leases.close()
    await db.close()
  }
  const crash = async () => {
    // From now on no write reaches the database.
    journal.close()
    await leases.close()
    await db.close()
    await loop.stop()
    // Writes that cannot reach the database fail in their own time.
    void executor.close()
    await crons.stop()
    await deliveries?.stop()
  }
  const others = { journal, loop, metrics, tracing, spans, crons, deliveries, crash }
  return { ...shares, ...others, [Symbol.asyncDispose]: stop }
}

/** The same on a database of its own, which ends with it. */
export async function freshServer(options: TestServerOptions = {}): Promise<TestServer> {
  const db = await serverDatabase()
  const server = await startTestServer(db, options)
  const stop = async () => {
    await server[Symbol.asyncDispose]()
    await db.close()
  }
  return { ...server, [Symbol.asyncDispose]: stop }
}

export interface ReceivedEvent {
  readonly event: string
  readonly data: unknown
  readonly id: string | undefined
}

/** A subscriber that records all events. */
export class Listening implements Subscriber {
  readonly events: ReceivedEvent[] = []
  hasEnded = false

  accepts(event: string): boolean {
    return event !== resultEvent
  }
  write(bytes: Buffer): void {
    this.events.push(...parseEvents(bytes.toString("utf8")))
  }
  end(): void {
    this.hasEnded = true
  }
  get names(): string[] {
    return this.events.map(({ event }) => event)
  }
}

/** A recording subscriber that can stop reading, like a slow client. */
export class SlowListening extends Listening {
  #drained: Promise<void> | undefined
  #read: () => void = () => undefined

  /** Stops reading until `read` is called. */
  stopReading(): void {
    this.#drained = new Promise((resolve) => {
      this.#read = resolve
    })
  }

  read(): void {
    this.#drained = undefined
    this.#read()
  }

  drained(): Promise<void> | undefined {
    return this.#drained
  }
}

/** Parses complete events of a `text/event-stream`. Comments are skipped. */
export function parseEvents(text: string): ReceivedEvent[] {
  const blocks = text.split("\n\n").filter((block) => block !== "" && !block.startsWith(":"))
  return blocks.map((block) => {
    const field = (name: string) =>
      block
        .split("\n")
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2)
    return { event: field("event") ?? "", data: JSON.parse(field("data") ?? "null"), id: field("id") }
  })
}

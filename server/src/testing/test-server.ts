/** An agent server without HTTP: queue, streams and scripted workers on a real database. */
import { randomUUID } from "node:crypto"
import { fileURLToPath } from "node:url"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { openDatabase } from "@superstep/toolkit/db/database"
import { createLog } from "@superstep/toolkit/log/log"
import { ClaimWrites } from "../checkpoints/claim-writes.js"
import { CronLoop } from "../crons/cron-loop.js"
import { openLeases } from "../databases.js"
import { resultEvent } from "../events/event.js"
import type { Subscriber } from "../events/run-stream.js"
import { RunStreams } from "../events/run-streams.js"
import { createMetrics, type Metrics } from "../metrics/metrics.js"
import { ClaimLoop } from "../runs/claim-loop.js"
import { Executor } from "../runs/executor.js"
import { leaseTimes } from "../runs/lease-times.js"
import { observeWith } from "../runs/observer.js"
import type { Runs } from "../runs/operations.js"
import { Turns } from "../runs/turns.js"
import type { Tracing } from "../tracing/tracing.js"
import { createDeliveryLoop } from "../webhooks/delivery-loop.js"
import type { WebhookSettings } from "../webhooks/settings.js"
import { testWebhooks } from "../webhooks/testing/settings.js"
import { ScriptedWorkers } from "./scripted-workers.js"

export const migrations = fileURLToPath(new URL("../../src/migrations", import.meta.url))

/** Connections of a test's server, besides those for leases and notifications. */
export const testPoolSize = 4

export interface TestServer extends Runs, AsyncDisposable {
  readonly workers: ScriptedWorkers
  readonly leases: Db
  readonly loop: ClaimLoop
  readonly metrics: Metrics
  readonly crons: CronLoop
  readonly deliveries: { stop(): Promise<void> } | undefined
  readonly webhooks: WebhookSettings
  /** Stops without giving anything back, as a killed process does. */
  crash(): Promise<void>
}

export interface TestServerOptions {
  readonly slots?: number
  readonly leaseMs?: number
  /** How long it must be in touch with the database to judge leases; not at all unless told. */
  readonly graceMs?: number
  readonly mostGapMs?: number
  /** How long a request for a run waits for slower ones before it. */
  readonly turnPatienceMs?: number
  readonly revisionId?: string
  readonly serverId?: string
  readonly runTimeoutMs?: number
  readonly stopGraceMs?: number
  readonly tracing?: Tracing
  readonly maxWaitingRuns?: number
  readonly threadTtlMs?: number
  /** How long a run waits for clients that are behind. */
  readonly patienceMs?: number
  readonly webhooks?: Partial<WebhookSettings>
  /** For a call of a webhook. */
  readonly callTimeoutMs?: number
}

/** Starts a server on a test's database; several may share one. */
export async function startTestServer(shared: Database, options: TestServerOptions = {}): Promise<TestServer> {
  const log = createLog({ process: "server", level: "silent" })
  const db = openDatabase({ uri: shared.uri, poolSize: testPoolSize, log })
  const { slots = 10, leaseMs = 30_000, graceMs = 0, revisionId = null, serverId = randomUUID() } = options
  const { runTimeoutMs = 0, stopGraceMs = 0, threadTtlMs = 120_000, patienceMs = 10_000 } = options
  const { tracing, maxWaitingRuns = 0, turnPatienceMs = 60_000 } = options
  const leases = openLeases({ uri: shared.uri, leaseMs, log })
  const { mostGapMs = leaseTimes(leaseMs).mostGapMs } = options
  const webhooks = { ...testWebhooks, ...options.webhooks }
  const claimer = { serverId, revisionId, leaseMs }
  const workers = new ScriptedWorkers({ slots })
  const streams = new RunStreams({ db, log, serverId, threadTtlMs, patienceMs })
  const writes = new ClaimWrites({ db, log })
  const metrics = createMetrics()
  const observer = observeWith([metrics.observer, ...(tracing ? [tracing.observer] : [])])
  const executor = new Executor({
    db,
    leases,
    log,
    workers,
    streams,
    writes,
    claimer,
    runTimeoutMs,
    stopGraceMs,
    observer,
  })
  const loop = new ClaimLoop({ db, leases, log, executor, streams, claimer, sweepMs: 50, mostGapMs, graceMs })
  workers.onFree(() => loop.slotFreed())
  await streams.start()
  await executor.start()
  await loop.start()
  const turns = new Turns({ patienceMs: turnPatienceMs })
  const crons = new CronLoop({ db, log, workers, streams, executor, claimer, webhooks, turns })
  await crons.start()
  const { callTimeoutMs: timeoutMs = 10_000 } = options
  const deliveries = createDeliveryLoop({ db, log, settings: webhooks, revisionId, timeoutMs })
  await deliveries?.start()
  const stop = async () => {
    await crons.stop()
    await loop.stop()
    await workers.stop()
    writes.close()
    await executor.close()
    await deliveries?.stop()
    await streams.close()
    await leases.close()
    await db.close()
  }
  const crash = async () => {
    // Nothing that still happens reaches the database.
    writes.close()
    await leases.close()
    await db.close()
    await loop.stop()
    await crons.stop()
    await deliveries?.stop()
  }
  return {
    db,
    leases,
    log,
    workers,
    streams,
    executor,
    claimer,
    turns,
    loop,
    metrics,
    tracing,
    maxWaitingRuns,
    crons,
    deliveries,
    webhooks,
    crash,
    [Symbol.asyncDispose]: stop,
  }
}

export interface ReceivedEvent {
  readonly event: string
  readonly data: unknown
  readonly id: string | undefined
}

/** A subscriber that keeps what it gets. */
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

/** One that reads only when it is told to. */
export class SlowListening extends Listening {
  #drained: Promise<void> | undefined
  #read: () => void = () => undefined

  /** From now on it takes nothing of what it is given. */
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

/** Parses whole events of a `text/event-stream`; comments are skipped. */
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

/** The clients of a simulated queue, and what a seed does to its servers. A request whose answer is lost may have had its effect. */
import { Conflict, KnownError, NotFound } from "@superstep/toolkit/errors/errors"
import { cancelRun, createRun } from "../../../testing/as-anyone.js"
import { type CancelAction, type MultitaskStrategy, multitaskStrategies } from "../../run.js"
import { newRun } from "../../schema.js"
import type { SimulatedServer } from "./simulated-server.js"
import { type Temper, tempers } from "./simulated-workers.js"
import { places, type World } from "./world.js"

/** A run that was asked for. */
export interface Ask {
  readonly runId: string
  /** Undefined for a stateless run. */
  readonly threadId: string | undefined
  readonly strategy: MultitaskStrategy
  readonly atMs: number
  readonly afterMs: number
  readonly temper: Temper
  outcome: "unknown" | "created" | "refused"
}

/** A stop that was asked for: of one run, or of those of a thread that a new run takes the place of. */
export interface StopAsk {
  readonly runId?: string
  readonly threadId?: string
  readonly action: CancelAction
  readonly atMs: number
}

const strategies: readonly MultitaskStrategy[] = ["enqueue", "enqueue", "enqueue", ...multitaskStrategies]
const usualTempers: readonly Temper[] = ["usual", "usual", "usual", "usual", "usual", "usual", ...tempers]

export class Clients {
  readonly asks: Ask[] = []
  readonly stops: StopAsk[] = []
  readonly #world: World
  readonly #threads: readonly string[]

  constructor(world: World) {
    this.#world = world
    this.#threads = Array.from({ length: world.random.between(1, 4) }, () => world.uuid())
  }

  /** Asks a server for a run, and does not wait for the answer. */
  create(server: SimulatedServer, given: Partial<Ask> = {}): Ask {
    const { random, clock, tell, uuid } = this.#world
    const ask: Ask = {
      runId: uuid(),
      threadId: random.below(8) === 0 ? undefined : random.pick(this.#threads),
      strategy: random.pick(strategies),
      afterMs: random.below(5) === 0 ? random.between(1, 40) * 1000 : 0,
      temper: random.pick(usualTempers),
      atMs: clock.now(),
      outcome: "unknown",
      ...given,
    }
    this.asks.push(ask)
    tell(
      `— server ${server.place} is asked for a run, ${ask.temper}, ${ask.strategy}, after ${ask.afterMs} ms`,
      ask.runId,
    )
    if (ask.threadId !== undefined && (ask.strategy === "interrupt" || ask.strategy === "rollback"))
      this.stops.push({ threadId: ask.threadId, action: ask.strategy, atMs: ask.atMs })
    const body = newRun.parse({
      assistant_id: "agent",
      run_id: ask.runId,
      input: { temper: ask.temper },
      multitask_strategy: ask.strategy,
      if_not_exists: "create",
      after_seconds: ask.afterMs / 1000,
    })
    createRun(server.runs, { threadId: ask.threadId, body }).then(
      () => {
        ask.outcome = "created"
      },
      (error: unknown) => {
        if (error instanceof Conflict) ask.outcome = "refused"
        else this.#note(error)
      },
    )
    return ask
  }

  /** Asks a server to stop a run, and does not wait for the answer. */
  stop(server: SimulatedServer, { runId, threadId }: Ask, action: CancelAction): void {
    if (threadId === undefined) return
    const { clock, tell } = this.#world
    tell(`— server ${server.place} is asked to cancel a run (${action})`, runId)
    this.stops.push({ runId, action, atMs: clock.now() })
    cancelRun(server.runs, { threadId, runId, action, wait: false }).catch((error: unknown) => {
      // It was not created, or it was rolled back before.
      if (!(error instanceof NotFound)) this.#note(error)
    })
  }

  #note(error: unknown): void {
    if (!(error instanceof KnownError)) this.#world.breaks(`a request failed: ${error}`)
  }

  /** One event that the seed chooses. */
  act(): void {
    const { random } = this.#world
    const place = random.pick(places)
    const server = this.#world.at(place)
    const acts: readonly (() => void)[] = [
      ...Array.from({ length: 8 }, () => () => void (server?.isServing && this.create(server))),
      ...Array.from({ length: 2 }, () => () => this.#stopOne(server)),
      () => this.#world.kill(place),
      () => this.#world.start(place, { keepsId: true }),
      () => this.#world.start(place, { keepsId: true }),
      () => this.#world.start(place, { keepsId: false }),
      () => server?.workers.die(),
      () => this.#retire(server),
      () => this.#suspend(server, random.between(1, 2000)),
      () => this.#suspend(server, random.between(20_000, 150_000)),
      () => this.#world.cut(place, random.between(1, 90_000)),
      () => this.#world.outage(random.pick([1000, 10_000, 35_000, 50_000])),
      () => this.#world.outage(random.pick([20_000, 40_000])),
      () => this.#world.jump(random.pick([-30_000, -1000, 1000, 10_000, 40_000])),
    ]
    random.pick(acts)()
  }

  #stopOne(server: SimulatedServer | undefined): void {
    const { random } = this.#world
    if (!server?.isServing || this.asks.length === 0) return
    this.stop(server, random.pick(this.asks.slice(-6)), random.pick(["interrupt", "interrupt", "rollback"]))
  }

  #retire(server: SimulatedServer | undefined): void {
    if (!server?.isServing) return
    this.#world.tell(`— server ${server.place} is asked to stop`)
    void server.stop()
  }

  #suspend(server: SimulatedServer | undefined, ms: number): void {
    if (!server) return
    this.#world.tell(`— server ${server.place} is suspended for ${ms} ms`)
    server.suspend(ms)
  }
}

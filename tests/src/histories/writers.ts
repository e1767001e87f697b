/** Clients that write to one thread at the same time, by whatever server lives, and record each call. */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { type Random, seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import { type Answer, ask, follow, isLost, outcomeOf, type Reply, refusal, withValue } from "./ask.js"
import type { Operation, Outcome, Recorder, Strategy, Task, Value } from "./call.js"
import { type Carried, carriedIn, type ReadNumbers, randomNumbers } from "./numbers.js"

export interface SharedThread {
  /** Part of all names on it. */
  readonly name: string
  readonly seed: number
  readonly writers: number
  /** How many calls each of them makes. */
  readonly calls: number
  /** How long a super-step takes, in milliseconds: one of these. */
  readonly stepMs?: readonly number[]
  /** Which numbers its graph can hold: those of JavaScript are doubles. */
  readonly holds?: "doubles" | "all"
}

export interface Surroundings {
  readonly recorder: Recorder
  readonly db: Database
  /** The server to ask at this moment. */
  readonly url: () => string
  readonly headers?: Readonly<Record<string, string>>
}

/** What clients do on a thread: some threads know no rollback, and some no deletion, so that more can be said of their reads. */
const actions = [
  ...["create", "create", "create", "create", "start", "start", "state", "state", "state"],
  ...["wait", "stream", "cancel", "cancel", "update", "update", "resume", "respond", "respond"],
  ...["run", "status", "result", "copy", "prune", "tick"],
] as const

// A run is over within seconds of the last kill; only a lost one uses this up.
const timeoutMs = 60_000

export class ThreadWriters {
  readonly #shared: SharedThread
  readonly #around: Surroundings
  readonly #threadId = randomUUID()
  /** Ids of the runs that were acknowledged, by name. */
  readonly #runs = new Map<string, string>()
  #names = 0
  #question: { readonly task: string; readonly id: string } | undefined
  readonly #strategies: readonly Strategy[]
  readonly #canDelete: boolean
  readonly #sentNumbers = new Map<string, readonly string[]>()
  readonly #numbersChance: Random

  constructor(shared: SharedThread, around: Surroundings) {
    this.#shared = shared
    this.#around = around
    const kind = shared.seed % 3
    this.#strategies = ["enqueue", "enqueue", "reject", "interrupt", ...(kind === 0 ? [] : (["rollback"] as const))]
    this.#canDelete = kind === 2
    this.#numbersChance = seededRandom(~shared.seed)
  }

  /** Resolves when all clients have made their calls. */
  async write(): Promise<void> {
    const metadata = { graph_id: "thread", ...this.#newNumbers(this.#shared.name) }
    const body = { thread_id: this.#threadId, if_exists: "do_nothing", metadata }
    while (isLost(await this.#ask("POST", "/threads", body))) await sleep(50)
    const { writers, calls, seed, name } = this.#shared
    const each = async (number: number) => {
      const random = seededRandom(seed + number)
      for (let call = 0; call < calls; call++) {
        await sleep(random.pick([0, 10, 40, 120, 300]))
        await this.#act(`${name}${"abcdefgh"[number]}`, random)
      }
    }
    await Promise.all(Array.from({ length: writers }, (_, number) => each(number)))
  }

  /** Reads everything once no run of the thread can change any more. @throws Error  one is never over */
  async readLast(): Promise<void> {
    const { db, recorder } = this.#around
    const isOver = async () => {
      const open = await db.row(sql`
        select from runs where thread_id = ${this.#threadId} and status in ('pending', 'running') limit 1`)
      return open === undefined
    }
    await until(isOver, { what: `all runs of ${this.#shared.name} are over`, timeoutMs })
    const client = `${this.#shared.name}z`
    await this.#state(client)
    await this.#status(client)
    const rows = await db.rows<{ name: string; status: string; isInputSaved: boolean | null }>(sql`
      select metadata ->> 'run' as name, status, input_saved as "isInputSaved" from runs where thread_id = ${this.#threadId}`)
    const listed = await this.#ask("GET", this.#path("/runs?limit=1000"))
    const runs: Answer["body"][] = isLost(listed) || listed.status !== 200 ? [] : listed.body
    const known = recorder.calls.flatMap(({ thread, what }) =>
      thread === this.#shared.name && what.op !== "update" && "run" in what ? [what.run] : [],
    )
    for (const name of new Set([...known, ...rows.map((row) => row.name)])) {
      const row = rows.find((one) => one.name === name)
      const isInputSaved = row?.status === "success" ? true : row?.isInputSaved
      const numbers = this.#numbersOf(runs.filter(({ metadata }) => metadata.run === name))
      const outcome: Outcome = row
        ? { is: "ok", value: { status: row.status, ...(isInputSaved !== undefined && { isInputSaved }), ...numbers } }
        : { is: "refused", status: 404 }
      const now = performance.now()
      this.#record(client, { op: "run", run: name }, outcome, now, now + 0.001)
    }
  }

  async #act(client: string, random: Random): Promise<void> {
    const action = random.pick(this.#canDelete && random.next() < 0.04 ? (["delete"] as const) : actions)
    const recent = [...this.#runs.keys()].slice(-4)
    switch (action) {
      case "create":
      case "start":
      case "wait":
      case "stream":
        return this.#create(client, action, random)
      case "resume":
        return this.#question || random.next() < 0.2 ? this.#resume(client, random) : this.#state(client)
      case "respond":
        return this.#question ? this.#respond(client, this.#question) : this.#state(client)
      case "cancel":
        return recent.length > 0 ? this.#cancel(client, random.pick(recent), random) : undefined
      case "run":
        return recent.length > 0 ? this.#readRun(client, random.pick(recent)) : undefined
      case "result":
        return recent.length > 0 ? this.#join(client, random.pick(recent)) : undefined
      case "state":
        return this.#state(client)
      case "status":
        return this.#status(client)
      case "copy":
        return this.#copy(client)
      case "tick":
        return this.#tick(client, random)
      case "update": {
        const entry = this.#newName()
        const body = { values: { log: [entry], carried: [this.#newNumbers(entry)] }, as_node: "note" }
        await this.#keepItem(client, entry)
        await this.#call(client, { op: "update", entry }, () => this.#ask("POST", this.#path("/state"), body))
        return
      }
      case "prune": {
        const body = { thread_ids: [this.#threadId], strategy: "keep_latest" }
        await this.#call(client, { op: "prune" }, () => this.#ask("POST", "/threads/prune", body))
        return
      }
      case "delete":
        await this.#call(client, { op: "delete" }, () => this.#ask("DELETE", this.#path()))
    }
  }

  async #create(client: string, way: "create" | "start" | "wait" | "stream", random: Random): Promise<void> {
    const run = this.#newName()
    const task: Task = { name: run, steps: random.between(1, 4), asks: random.next() < 0.3 }
    const strategy = random.pick(this.#strategies)
    const stepMs = random.pick(this.#shared.stepMs ?? [5, 20, 60])
    const durability = random.pick(["sync", "async", "async", "exit"] as const)
    const input = { task: { ...task, stepMs }, at: 0, log: [`${run}/in`], carried: [this.#newNumbers(run)] }
    const common = { assistant_id: "thread", input, metadata: this.#metadataOf(run), multitask_strategy: strategy }
    // A client repeats a lost request with the same key until it has an answer: one call, which takes effect once.
    const headers = random.next() < 0.5 ? { "idempotency-key": randomUUID() } : undefined
    if (way === "start") {
      const what: Operation = { op: "start", run, task, strategy }
      const result = await this.#call(client, what, () => this.#command("run.start", common, headers))
      return this.#acknowledged(run, result?.run_id)
    }
    const body = { ...common, durability, ...(this.#canDelete && { if_not_exists: "create" }) }
    const what: Operation = { op: "create", run, task, strategy, ...(this.#canDelete && { makesThread: true }) }
    if (way === "wait") return this.#createAndWait(client, what, body)
    if (way === "stream") return this.#createAndFollow(client, what, { ...body, stream_mode: ["values"] })
    const reply = await this.#call(client, what, () => this.#ask("POST", this.#path("/runs"), body, headers))
    this.#acknowledged(run, reply?.run_id)
  }

  async #createAndWait(client: string, what: Operation & { readonly run: string }, body: object): Promise<void> {
    const calledAt = performance.now()
    const reply = await this.#ask("POST", this.#path("/runs/wait"), body)
    if (reply === "not sent") return
    const returnedAt = performance.now()
    this.#record(client, what, outcomeOf(reply), calledAt, returnedAt)
    if (isLost(reply) || reply.status !== 200) return
    this.#acknowledged(what.run, reply.location)
    this.#record(client, { op: "result", run: what.run }, this.#resultOf(reply), calledAt, returnedAt)
  }

  async #createAndFollow(client: string, what: Operation & { readonly run: string }, body: object): Promise<void> {
    const calledAt = performance.now()
    const { url, headers } = this.#around
    const { reply, ended } = await follow(url(), { path: this.#path("/runs/stream"), body, headers })
    if (reply === "not sent") return
    this.#record(client, what, outcomeOf(reply), calledAt, performance.now())
    if (isLost(reply) || reply.status !== 200) return
    this.#acknowledged(what.run, reply.location)
    if (await ended) this.#over(client, what.run)
  }

  async #resume(client: string, random: Random): Promise<void> {
    const run = this.#newName()
    const strategy = random.pick(this.#strategies)
    const body = {
      assistant_id: "thread",
      command: { resume: run },
      metadata: this.#metadataOf(run),
      multitask_strategy: strategy,
    }
    const what: Operation = { op: "resume", run, strategy }
    const reply = await this.#call(client, what, () => this.#ask("POST", this.#path("/runs"), body))
    this.#acknowledged(run, reply?.run_id)
  }

  async #respond(client: string, { task, id }: { readonly task: string; readonly id: string }): Promise<void> {
    const run = this.#newName()
    const params = { interrupt_id: id, response: run, metadata: this.#metadataOf(run) }
    await this.#call(client, { op: "respond", run, about: task }, () => this.#command("input.respond", params))
  }

  /** A cron that becomes due once, by the clock: its run comes at some time, and nobody is told. */
  async #tick(client: string, random: Random): Promise<void> {
    const run = this.#newName()
    const task: Task = { name: run, steps: random.between(1, 3), asks: false }
    const input = { task: { ...task, stepMs: 10 }, at: 0, log: [`${run}/in`], carried: [this.#newNumbers(run)] }
    const body = { assistant_id: "thread", input, metadata: this.#metadataOf(run), schedule: "0 0 1 1 *" }
    const calledAt = performance.now()
    const made = await this.#ask("POST", this.#path("/runs/crons"), body)
    if (isLost(made) || made.status !== 200) return
    this.#record(
      client,
      { op: "kept", name: run },
      withValue(made, this.#numbersOf(made.body)),
      calledAt,
      performance.now(),
    )
    this.#record(
      client,
      { op: "create", run, task, strategy: "enqueue" },
      { is: "unknown" },
      calledAt,
      Number.POSITIVE_INFINITY,
    )
    // Postgres may be away; then it becomes due in January.
    await this.#around.db
      .run(sql`update crons set next_run_date = now() where cron_id = ${made.body.cron_id}`)
      .catch(() => undefined)
  }

  async #cancel(client: string, run: string, random: Random): Promise<void> {
    const action = this.#strategies.includes("rollback") && random.next() < 0.5 ? "rollback" : "interrupt"
    const waits = random.next() < 0.5
    const path = this.#path(`/runs/${this.#runs.get(run)}/cancel?action=${action}&wait=${waits}`)
    const reply = await this.#call(client, { op: "cancel", run, action }, () => this.#ask("POST", path))
    if (reply && waits) this.#over(client, run)
  }

  async #join(client: string, run: string): Promise<void> {
    const calledAt = performance.now()
    const reply = await this.#ask("GET", this.#path(`/runs/${this.#runs.get(run)}/join`))
    if (isLost(reply)) return
    this.#record(client, { op: "result", run }, this.#resultOf(reply), calledAt, performance.now())
  }

  async #readRun(client: string, run: string): Promise<void> {
    const calledAt = performance.now()
    const reply = await this.#ask("GET", this.#path(`/runs/${this.#runs.get(run)}`))
    if (isLost(reply)) return
    const { status, input_saved: isInputSaved } = reply.body
    const value = { status, isInputSaved, ...this.#numbersOf(reply.body) }
    this.#record(client, { op: "run", run }, withValue(reply, value), calledAt, performance.now())
  }

  async #status(client: string): Promise<void> {
    const calledAt = performance.now()
    const reply = await this.#ask("GET", this.#path())
    if (isLost(reply)) return
    const { status, metadata, values } = reply.body
    const value = { status, ...this.#numbersOf(metadata, values) }
    this.#record(client, { op: "status" }, withValue(reply, value), calledAt, performance.now())
  }

  async #state(client: string): Promise<void> {
    const calledAt = performance.now()
    const reply = await this.#ask("GET", this.#path("/state"))
    if (isLost(reply)) return
    const asked = (reply.body.tasks ?? []).flatMap(({ interrupts = [] }) => interrupts)[0]
    this.#question = asked && { task: asked.value.task, id: asked.id }
    const { log = [], task, even } = reply.body.values ?? {}
    const has = (part: string) => (log as string[]).some((id) => id.includes(part))
    const lacks = task === undefined && has("/in") ? "task" : even === undefined && has("/0#") ? "even" : undefined
    const value = { ...this.#stateOf(reply.body), question: asked?.value.task ?? null, ...(lacks && { lacks }) }
    this.#record(client, { op: "state" }, withValue(reply, value), calledAt, performance.now())
  }

  async #copy(client: string): Promise<void> {
    const calledAt = performance.now()
    const copied = await this.#ask("POST", this.#path("/copy"))
    const returnedAt = performance.now()
    if (isLost(copied)) return
    const reply = copied.status === 200 ? await this.#ask("GET", `/threads/${copied.body.thread_id}/state`) : copied
    if (isLost(reply)) return
    const value = this.#stateOf(reply.body)
    this.#record(client, { op: "copy" }, withValue(reply, value), calledAt, returnedAt)
  }

  /** An item of the store, which nobody else writes. */
  async #keepItem(client: string, name: string): Promise<void> {
    const item = { namespace: ["numbers"], key: name, value: this.#newNumbers(`item ${name}`, "all") }
    const kept = await this.#ask("PUT", "/store/items", item)
    if (isLost(kept) || kept.status >= 300) return
    const calledAt = performance.now()
    const reply = await this.#ask("GET", `/store/items?namespace=numbers&key=${name}`)
    if (isLost(reply)) return
    this.#record(
      client,
      { op: "kept", name: item.value.of },
      withValue(reply, this.#numbersOf(reply.body)),
      calledAt,
      performance.now(),
    )
  }

  #over(client: string, run: string): void {
    const now = performance.now()
    this.#record(client, { op: "over", run }, { is: "ok" }, now, now + 0.001)
  }

  #acknowledged(run: string, runId: string | undefined): void {
    if (runId !== undefined) this.#runs.set(run, runId)
  }

  /** @returns what the server replied, if it did what it was asked for */
  async #call(client: string, what: Operation, send: () => Promise<Reply>): Promise<Answer["body"] | undefined> {
    const calledAt = performance.now()
    const reply = await send()
    if (reply === "not sent") return undefined
    const outcome = outcomeOf(reply)
    this.#record(client, what, outcome, calledAt, performance.now())
    return outcome.is === "ok" && !isLost(reply) ? reply.body : undefined
  }

  #record(client: string, what: Operation, outcome: Outcome, calledAt: number, returnedAt: number): void {
    const end = outcome.is === "unknown" ? Number.POSITIVE_INFINITY : returnedAt
    this.#around.recorder.add({ thread: this.#shared.name, client, what, calledAt, returnedAt: end, outcome })
  }

  /** A command's failure is a reply 200 that says so. */
  async #command(method: string, params: object, headers?: Record<string, string>): Promise<Reply> {
    const reply = await this.#ask("POST", this.#path("/commands"), { id: 1, method, params }, headers)
    if (isLost(reply) || reply.status !== 200) return reply
    return reply.body.type === "error" ? { ...reply, status: 409 } : { ...reply, body: reply.body.result ?? {} }
  }

  /** Once; with a key until there is an answer. */
  async #ask(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Reply> {
    for (;;) {
      const all = { ...this.#around.headers, ...headers }
      const reply = await ask(this.#around.url(), { method, path, body, headers: all })
      if (!isLost(reply) || !headers) return reply
      await sleep(50)
    }
  }

  #metadataOf(run: string): Carried & { readonly run: string } {
    return { run, ...this.#newNumbers(`metadata of ${run}`) }
  }

  #newNumbers(of: string, holds = this.#shared.holds ?? "doubles"): Carried {
    const carried = randomNumbers(of, this.#numbersChance, holds)
    this.#sentNumbers.set(of, carried.numbers)
    return carried
  }

  /** The numbers in what a reply has of requests, and in what it has of the graph. */
  #numbersOf(requested: unknown, computed?: unknown): { readonly numbers: readonly ReadNumbers[] } {
    const read = (value: unknown, areDoubles: boolean) =>
      carriedIn(value).map((carried) => ({ ...carried, areDoubles, sent: this.#sentNumbers.get(carried.of) ?? [] }))
    return { numbers: [...read(requested, false), ...read(computed, this.#shared.holds !== "all")] }
  }

  #stateOf({ values, tasks = [] }: Answer["body"]): Value {
    const { length } = tasks.flatMap(({ result }: Answer["body"]) => result?.log ?? [])
    return { log: values?.log ?? [], ...(length > 0 && { uncommitted: length }), ...this.#numbersOf(undefined, values) }
  }

  /** A result that is an error is a refusal: of a run that is gone, or of one that has failed. */
  #resultOf(reply: Answer): Outcome {
    const error = reply.body.__error__
    if (reply.status !== 200) return refusal(reply)
    if (error?.error === "RunGone") return { is: "refused", status: 404 }
    if (error) return { is: "refused", status: 500, why: `${error.error}: ${error.message}` }
    return { is: "ok", value: this.#stateOf({ values: reply.body }) }
  }

  readonly #path = (rest = ""): string => `/threads/${this.#threadId}${rest}`

  readonly #newName = (): string => `${this.#shared.name}.${++this.#names}`
}

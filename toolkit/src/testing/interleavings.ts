/**
 * Two requests at the same moment, in each way in which two processes can execute them: the one happens as a whole between two statements of
 * the other. What both are answered, and what they leave, must be as if one had come after the other.
 */
import assert from "node:assert/strict"
import { AsyncLocalStorage } from "node:async_hooks"
import type { Database, Db } from "../db/database.js"
import { sql } from "../db/sql.js"
import { seedOfCommit } from "./seed-of-commit.js"
import { until } from "./until.js"
import { runsLongTests, runsWideTests } from "./wide-tests.js"

/** What a client is told: the HTTP status, and what of the answer depends on no id and no time. What can be told only later is a function. */
export type Answer = readonly unknown[]

/** @param by  names the client in what it writes */
export type Request<Client, Subject> = (client: Client, on: Subject, by: string) => Promise<Answer>

export interface Interleavings<World, Client, Subject> {
  readonly requests: Readonly<Record<string, Request<Client, Subject>>>
  readonly setups: Readonly<Record<string, (world: World) => Promise<Subject>>>
  /** Cases that are tried each time, most of which failed once: the setup and both requests. */
  readonly always: readonly (readonly [setup: string, one: string, two: string])[]
  /** What requests have left, without ids and times. */
  readonly leftOf: (db: Db, on: Subject) => Promise<unknown>
}

/** A number of cases. */
export interface Share {
  /** In a run of `npm test`. */
  readonly usual: number
  /** Where the wide tests run. */
  readonly wide: number
}

/** Two processes that share a database, for clients. */
export interface TwoProcesses<Client> {
  readonly db: Database
  /** Whose statements go through `place`. */
  readonly first: Client
  readonly second: Client
  readonly place: BetweenStatements
}

/**
 * Tries a share of all pairs in all setups, which the commit chooses; the long tests try all of them.
 * `SUPERSTEP_PAIRS` is a regular expression: all cases are tried whose setup and requests, joined by commas, it matches.
 * @param most   about how many cases to try
 * @returns      how many interleavings were tried
 * @throws AssertionError  some are like no order of the two, or none was tried
 */
export async function interleave<Client, Subject, World extends TwoProcesses<Client>>(
  { requests, setups, always, leftOf }: Interleavings<World, Client, Subject>,
  world: World,
  most: Share,
): Promise<number> {
  const { db, first, second, place } = world
  const outcomeOf = async (on: Subject, answers: Readonly<Record<string, Answer>>) => {
    const [one, two] = [await told(answers.one), await told(answers.two)]
    return JSON.stringify([one, two, await leftOf(db, on)])
  }
  const inOrder = async (setUp: SetUp<World, Subject>, order: readonly Named<Client, Subject>[]) => {
    const on = await setUp(world)
    const answers: Record<string, Answer> = {}
    for (const { name, by, request } of order) {
      const answer = await request(second, on, by)
      assert.ok(Number(answer[0]) < 500, `"${name}" after "${Object.keys(answers)}" is ${JSON.stringify(answer)}`)
      answers[by] = answer
    }
    return outcomeOf(on, answers)
  }
  /** @returns undefined when the outer request has fewer statements */
  const between = async (
    setUp: SetUp<World, Subject>,
    [outer, inner]: readonly [Named<Client, Subject>, Named<Client, Subject>],
    statement: number,
  ) => {
    const on = await setUp(world)
    let asked: Promise<Answer> | undefined
    place.set(statement, async () => {
      asked = inner.request(second, on, inner.by)
      await untilDoneOrBlocked(db, asked)
    })
    const answer = await outer.request(first, on, outer.by)
    place.clear()
    return asked && outcomeOf(on, { [outer.by]: answer, [inner.by]: await asked })
  }

  const odd: string[] = []
  let tried = 0
  const pairs = pairsOf(Object.entries(requests))
  const cases = Object.entries(setups).flatMap(([setup, setUp]) =>
    pairs.map(([one, two]) => ({ setup, setUp, one, two })),
  )
  const every = runsLongTests ? 1 : Math.ceil(cases.length / (runsWideTests ? most.wide : most.usual))
  const known = new Set(always.map((names) => names.join()))
  const all = new Set(cases.map(({ setup, one, two }) => [setup, one.name, two.name].join()))
  for (const names of known)
    assert.ok(all.has(names), `there is no case "${names}": both requests are named in the order of the table`)
  const named = process.env.SUPERSTEP_PAIRS
  const seed = named ? 0 : seedOfCommit()
  const taken = cases.filter(({ setup, one, two }, number) => {
    const names = [setup, one.name, two.name].join()
    return named ? names.match(named) : (number + seed) % every === 0 || known.has(names)
  })
  for (const { setup, setUp, one, two } of taken) {
    const orders = [await inOrder(setUp, [one, two]), await inOrder(setUp, [two, one])]
    for (const [outer, inner] of [
      [one, two],
      [two, one],
    ] as const) {
      for (let statement = 1; ; statement++) {
        const outcome = await between(setUp, [outer, inner], statement)
        if (outcome === undefined) break
        tried++
        if (orders.includes(outcome)) continue
        const what = `"${inner.name}" (${inner.by}) before statement ${statement} of "${outer.name}" (${outer.by})`
        const again = `SUPERSTEP_PAIRS="${[setup, one.name, two.name].join()}"`
        odd.push([`${setup}: ${what}`, `is ${outcome}`, ...orders.map((order) => `not ${order}`), again].join("\n  "))
      }
    }
  }
  assert.deepEqual(odd, [])
  assert.ok(tried > 0 || named)
  return tried
}

type SetUp<World, Subject> = (world: World) => Promise<Subject>

interface Named<Client, Subject> {
  readonly by: string
  readonly name: string
  readonly request: Request<Client, Subject>
}

/** Each request with itself and each other one. */
const pairsOf = <Client, Subject>(requests: readonly (readonly [string, Request<Client, Subject>])[]) =>
  requests.flatMap(([name, request], n) =>
    requests.slice(n).map(
      ([otherName, other]) =>
        [
          { by: "one", name, request },
          { by: "two", name: otherName, request: other },
        ] as const,
    ),
  )

const told = (answer: Answer = []) =>
  Promise.all(answer.map((part) => (typeof part === "function" ? (part as () => unknown)() : part)))

/** A place in the statements of one request, and what happens there. Other statements of its process do not count. */
export class BetweenStatements {
  readonly #request = new AsyncLocalStorage<true>()
  #left = 0
  #act: (() => Promise<void>) | undefined

  /** @param before  the number of the statement, from 1, before which `act` happens; the end of a transaction counts as one, too */
  set(before: number, act: () => Promise<void>): void {
    this.#left = before
    this.#act = act
  }

  clear(): void {
    this.#act = undefined
  }

  /** Executes the request. */
  within<Result>(request: () => Result): Result {
    return this.#request.run(true, request)
  }

  /** For the process that executes the request. */
  database(db: Database): Database {
    const on = (one: Db): Db => ({
      rows: (statement) => this.#next().then(() => one.rows(statement)),
      row: (statement) => this.#next().then(() => one.row(statement)),
      run: (statement) => this.#next().then(() => one.run(statement)),
    })
    const transaction = <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
      db.transaction(async (tx) => {
        const result = await work(on(tx))
        await this.#next()
        return result
      })
    return { ...db, ...on(db), transaction }
  }

  async #next(): Promise<void> {
    if (this.#act === undefined || !this.#request.getStore() || --this.#left > 0) return
    const act = this.#act
    this.#act = undefined
    await act()
  }
}

/** Resolves when the work is done, or waits for a lock that another transaction holds. */
async function untilDoneOrBlocked(db: Database, work: Promise<unknown>): Promise<void> {
  let isDone = false
  const done = () => {
    isDone = true
  }
  // If the outer request fails first, nobody awaits the work.
  void work.then(done, done)
  const blocked = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await until(async () => isDone || (await db.row(blocked)) !== undefined, { what: "the work is done or blocked" })
}

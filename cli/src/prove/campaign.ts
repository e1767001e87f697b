/** Learns what graphs do undisturbed, then attacks in rounds until the time is over. Each round is judged before the next. */
import { setTimeout as sleep } from "node:timers/promises"
import { type Random, seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { type Attack, attacks } from "./attacks.js"
import { Conversation } from "./conversation.js"
import type { ThreadFacts } from "./facts.js"
import { type Input, runsPerConversation } from "./inputs.js"
import type { Installation } from "./installation.js"
import { type Broken, judge, learn, type Undisturbed } from "./judge.js"

export interface Subject {
  readonly graph: string
  /** Of each conversation, one run each. */
  readonly inputs: readonly Input[]
}

export interface CampaignOptions {
  readonly installation: Installation
  readonly subjects: readonly Subject[]
  readonly minutes: number
  /** Chooses attacks and moments; times are the machine's. */
  readonly seed: number
  /** Of each request. */
  readonly headers: Readonly<Record<string, string>>
  /** Ends it early. */
  readonly signal: AbortSignal
  /** Hears what comes next. */
  readonly onProgress: (words: string) => void
}

/** What was learned of a graph, and how long its slowest conversation took, in milliseconds. */
export interface Learned extends Undisturbed {
  readonly subject: Subject
  readonly longestMs: number
}

export interface AttackTally {
  readonly times: number
  /** How often a run was under way. */
  readonly underWay: number
  /** How many runs were continued in a further attempt. */
  readonly continued: number
  readonly broken: number
}

export interface Found extends Broken {
  /** What was being done. */
  readonly during: string
  readonly facts: ThreadFacts
}

export interface CampaignReport {
  readonly learned: readonly Learned[]
  readonly attacks: ReadonlyMap<Attack, AttackTally>
  /** How many runs were attacked. */
  readonly runs: number
  /** How many runs of each graph were judged. */
  readonly judged: ReadonlyMap<string, number>
  readonly found: readonly Found[]
}

const calmConversations = 3
// An attack needs time, too: later it would find runs that have ended.
const attackedShare = 0.7
const conversationsPerRound = 3
const roundsPerMinute = 10
// Beyond what the graph takes: a lease, restarts, and requests to servers that do not answer.
const patienceMs = 90_000
const longestCalmMs = 30 * 60_000

/** The most runs of graphs that a campaign starts. An attack may execute a run's current step once more. */
export const mostRuns = (graphs: number, minutes: number): number =>
  (2 * graphs * calmConversations + Math.ceil(minutes * roundsPerMinute) * conversationsPerRound) * runsPerConversation

/** The campaign itself, with what all of its rounds need. */
export class Campaign {
  readonly #options: CampaignOptions
  /** Chooses what is done. */
  readonly #schedule: Random
  /** What is chosen while a round goes on depends on how fast the machine is: it must not change the rounds that follow. */
  readonly #random: Random
  readonly #tallies = new Map<Attack, AttackTally>(
    attacks.map((attack) => [attack, { times: 0, underWay: 0, continued: 0, broken: 0 }]),
  )
  readonly #judged = new Map<string, number>()
  readonly #found: Found[] = []
  #runs = 0

  constructor(options: CampaignOptions) {
    this.#options = options
    this.#schedule = seededRandom(options.seed)
    this.#random = seededRandom(~options.seed)
  }

  /**
   * Holds some conversations of each graph that nothing disturbs.
   * @param onFirst  gets what was seen of the first one of each graph, and may throw
   */
  async learn(onFirst: (facts: ThreadFacts) => void): Promise<Learned[]> {
    const all: Learned[] = []
    for (const subject of this.#options.subjects) {
      this.#options.onProgress(`running ${subject.graph} undisturbed`)
      const first = await this.#holdCalm(subject, "calm-1")
      onFirst(first.facts)
      const others = await this.#holdCalmly(subject, calmConversations - 1)
      const calm = [first, ...others].map(({ facts }) => facts)
      // The first one also waits for workers that load.
      const longestMs = Math.max(...others.map(({ ms }) => ms))
      const learned = { ...learn(calm), subject, longestMs }
      all.push(learned)
      // A promise that is broken when nothing attacks it is a finding as well.
      for (const facts of calm) this.#judge(facts, learned, "nothing was attacked")
    }
    return all
  }

  #holdCalmly(subject: Subject, count: number): Promise<{ readonly facts: ThreadFacts; readonly ms: number }[]> {
    const names = Array.from({ length: count }, (_, index) => `calm-${index + 2}`)
    return Promise.all(names.map((name) => this.#holdCalm(subject, name)))
  }

  async #holdCalm(subject: Subject, name: string): Promise<{ readonly facts: ThreadFacts; readonly ms: number }> {
    const conversation = this.#conversation(subject, name, longestCalmMs)
    const startedAt = performance.now()
    await conversation.hold()
    const ms = Math.ceil(performance.now() - startedAt)
    return { facts: await conversation.facts(this.#urls()), ms }
  }

  /** Attacks until the time is over. */
  async attack(learned: readonly Learned[]): Promise<CampaignReport> {
    const { minutes, signal } = this.#options
    const rounds = Math.ceil(minutes * roundsPerMinute)
    const endAt = performance.now() + minutes * 60_000
    let waiting: Attack[] = []
    for (let number = 1; number <= rounds && performance.now() < endAt; number++) {
      signal.throwIfAborted()
      if (waiting.length === 0) waiting = shuffled(attacks, this.#schedule)
      const attack = waiting.shift()
      if (attack) await this.#round(number, attack, learned)
    }
    const confirmed = await this.#confirm(learned)
    return { learned: confirmed, attacks: this.#tallies, runs: this.#runs, judged: this.#judged, found: this.#found }
  }

  /**
   * Whether a graph, of which a final state differed, really answers the same each time: some more conversations without an attack. If
   * they differ, too, its states say nothing.
   * @returns  what is known of the graphs now
   */
  async #confirm(learned: readonly Learned[]): Promise<Learned[]> {
    const confirmed: Learned[] = []
    for (const of of learned) {
      const { graph } = of.subject
      const isDoubtful = ({ promise, facts }: Found) => promise.id === "values" && facts.graph === graph
      if (!this.#found.some(isDoubtful)) {
        confirmed.push(of)
        continue
      }
      this.#options.onProgress(`running ${graph} undisturbed once more, since a final state differed`)
      const calm = await this.#holdCalmly(of.subject, calmConversations)
      const { values } = learn(calm.map(({ facts }) => facts))
      if (values === of.values) confirmed.push(of)
      else {
        confirmed.push({ ...of, values: undefined })
        this.#withdraw(isDoubtful)
      }
    }
    return confirmed
  }

  #withdraw(isWithdrawn: (found: Found) => boolean): void {
    const withdrawn = this.#found.filter(isWithdrawn)
    for (const found of withdrawn) this.#found.splice(this.#found.indexOf(found), 1)
    for (const [attack, tally] of this.#tallies) {
      const count = withdrawn.filter(({ during }) => during === attack.words).length
      this.#tallies.set(attack, { ...tally, broken: tally.broken - count })
    }
  }

  async #round(number: number, attack: Attack, learned: readonly Learned[]): Promise<void> {
    const { installation, signal, onProgress } = this.#options
    onProgress(`round ${number}: ${attack.words}`)
    const held = Array.from({ length: conversationsPerRound }, (_, index) => {
      const of = learned[(number + index) % learned.length]
      if (!of) throw new Error("nothing was learned")
      const conversation = this.#conversation(of.subject, `r${number}c${index + 1}`, patienceMs + 5 * of.longestMs)
      return { of, conversation }
    })
    const longestMs = Math.max(...learned.map((one) => one.longestMs))
    const delayMs = this.#schedule.next() * longestMs * attackedShare
    const ended = Promise.all(held.map(({ conversation }) => conversation.hold()))
    // It is awaited after the attack.
    ended.catch(() => undefined)
    await sleep(delayMs, undefined, { signal })
    const isUnderWay = held.some(({ conversation }) => !conversation.isOver)
    const disconnect = () => {
      for (const { conversation } of held) conversation.disconnect()
    }
    const isDone = await attack.carryOut({ installation, random: this.#random, signal, disconnect })
    await installation.untilWhole()
    await ended
    // One may have crashed since, which is a finding; what became of the runs is another.
    await installation.untilWhole()
    const foundBefore = this.#found.length
    const seen = await Promise.all(
      held.map(async ({ of, conversation }) => [of, await conversation.facts(this.#urls())] as const),
    )
    for (const [of, facts] of seen) {
      this.#runs += facts.runs.length
      this.#judge(facts, of, attack.words)
    }
    const tally = this.#tallies.get(attack) ?? { times: 0, underWay: 0, continued: 0, broken: 0 }
    this.#tallies.set(attack, {
      times: tally.times + (isDone ? 1 : 0),
      underWay: tally.underWay + (isDone && isUnderWay ? 1 : 0),
      continued: tally.continued + held.reduce((sum, { conversation }) => sum + conversation.continued, 0),
      broken: tally.broken + this.#found.length - foundBefore,
    })
  }

  #judge(facts: ThreadFacts, undisturbed: Undisturbed, during: string): void {
    this.#judged.set(facts.graph, (this.#judged.get(facts.graph) ?? 0) + facts.runs.length)
    this.#found.push(...judge(facts, undisturbed).map((broken) => ({ ...broken, during, facts })))
  }

  #conversation({ graph, inputs }: Subject, name: string, patience: number): Conversation {
    const { headers, signal } = this.#options
    return new Conversation({ name, graph, inputs, url: this.#url, headers, signal, patienceMs: patience })
  }

  /** Any server that runs and answers, as a load balancer would choose. */
  readonly #url = (): string => {
    const { servers } = this.#options.installation
    const living = servers.filter(({ isRunning, isPaused }) => isRunning && !isPaused)
    return this.#random.pick(living.length > 0 ? living : servers).url
  }

  #urls(): string[] {
    return this.#options.installation.servers.map(({ url }) => url)
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const rest = [...items]
  return items.flatMap(() => rest.splice(random.between(0, rest.length - 1), 1))
}

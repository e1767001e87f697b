/**
 * Random conversations with a real worker: runs of several graphs at the same time, which are paused, resumed and cancelled and lose their claims at
 * random moments. Every run must come to its end, and every frame must keep the rules (rules.ts).
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises"
import type { RunFrame } from "@superstep/protocol/worker/frames"
import { type Random, seededRandom } from "@superstep/toolkit/testing/seeded-random"
import type { FakeServer, Received } from "@superstep/worker-js/testing/fake-server"
import type { Language } from "@superstep/worker-js/testing/languages"
import { brokenRules, type Told } from "./rules.js"

export interface ConversationsReport {
  readonly seed: number
  readonly conversations: number
  readonly runs: number
  readonly pauses: number
  readonly broken: readonly string[]
}

export interface ConversationsOptions {
  readonly seed: number
  /** How many, with a worker each. */
  readonly conversations: number
  readonly language: Language
  readonly onRound?: (report: ConversationsReport) => void
  /** Ends the campaign after the conversation that is held. */
  readonly signal?: AbortSignal
}

const [threads, turns] = [4, 6]
// Of a run that takes milliseconds, or a second with its pauses; only one that is never over uses this up.
const patienceMs = 30_000

const words = { messages: [{ role: "user", content: "hi" }] }
/** Inputs of graphs that workers of both languages have. */
const inputs: Readonly<Record<string, (random: Random) => unknown>> = {
  slow: (random) => ({ n: random.between(0, 4) }),
  chat: () => words,
  nested: () => words,
  error: () => ({ x: 1 }),
  hitl: () => ({ x: 0 }),
  deep: () => ({ x: 0 }),
  hitl2: () => ({ out: [] }),
  chain: () => ({ out: [] }),
  half: () => ({ out: [] }),
  twice: () => ({ out: [] }),
}
const modes = ["values", "updates", "custom", "tasks", "checkpoints", "messages-tuple"]

export async function conversationsCampaign({
  seed,
  conversations,
  language,
  onRound,
  signal,
}: ConversationsOptions): Promise<ConversationsReport> {
  const random = seededRandom(seed)
  let report: ConversationsReport = { seed, conversations: 0, runs: 0, pauses: 0, broken: [] }
  for (let count = 1; count <= conversations && !signal?.aborted; count++) {
    await using server = await language.start(...Object.keys(inputs))
    const conversation = new Conversation(server)
    // What is chosen on a thread depends on how fast the others are: each has a chance of its own.
    const seeds = Array.from({ length: threads }, () => random.between(0, 2 ** 31))
    await conversation.hold(seeds.map(seededRandom))
    const { told, faults } = conversation
    const broken = [...faults, ...brokenRules(server.received, told)]
    report = {
      seed,
      conversations: count,
      runs: report.runs + told.filter(({ what }) => what === "run").length,
      pauses: report.pauses + told.filter(({ what }) => what === "pause_events").length,
      broken: [...report.broken, ...broken],
    }
    onRound?.(report)
  }
  return report
}

class Conversation {
  readonly told: Told[] = []
  readonly faults: string[] = []
  readonly #server: FakeServer
  /** Claims that get lost, and after how many calls. */
  readonly #losing = new Map<string, number>()
  /** A run may be over before its worker knows that the claim is lost. */
  readonly #losses: Promise<void>[] = []

  constructor(server: FakeServer) {
    this.#server = server
    server.refuse = (call) => ("claim_id" in call && call.claim_id ? this.#refusalOf(call.claim_id) : undefined)
  }

  /** @param randoms  one for each thread */
  async hold(randoms: readonly Random[]): Promise<void> {
    await Promise.all(randoms.map((random) => this.#talk(random)))
    await Promise.all(this.#losses)
  }

  /** Runs on one thread, one after the other. */
  async #talk(random: Random): Promise<void> {
    const thread_id = randomUUID()
    const graphId = random.pick(Object.keys(inputs))
    for (let turn = 0, asks = false; turn < turns; turn++) {
      const run = this.#start(graphId, thread_id, { random, goesOn: asks && random.next() < 0.8 })
      const patience = sleep(patienceMs, undefined, { ref: false })
      const end = await Promise.race([this.#end(run), patience, this.#disturb(run, random).then(() => this.#end(run))])
      if (end === undefined) return void this.faults.push(`W7: a run of ${graphId} was not over after ${patienceMs} ms`)
      asks = end.header.type === "done" && end.header.status === "interrupted"
    }
  }

  #start(
    graphId: string,
    thread_id: string,
    { random, goesOn }: { readonly random: Random; readonly goesOn: boolean },
  ): RunFrame {
    const some = modes.filter(() => random.next() < 0.4)
    const run = this.#server.startRun(graphId, {
      thread_id,
      ...(goesOn ? { command: { resume: "yes" } } : { input: inputs[graphId]?.(random) }),
      config: { configurable: { tick_ms: random.pick([0, 1, 5, 20]) } },
      stream_modes: some.length > 0 ? some : ["values"],
      stream_subgraphs: random.next() < 0.5,
      durability: random.pick(["sync", "async", "exit"]),
      ...(random.next() < 0.5 && { protocol_events: true }),
    })
    if (random.next() < 0.1) this.#losing.set(run.claim_id, random.between(0, 8))
    this.#note(run.claim_id, "run")
    return run
  }

  /** Pauses the run a few times, each time when it has sent some more frames. */
  async #disturb(run: RunFrame, random: Random): Promise<void> {
    for (let times = random.between(0, 3); times > 0; times--) {
      const frames = random.between(0, 8)
      const isTime = () => this.#isOver(run) || this.#framesOf(run) >= frames
      while (!isTime()) await sleep(1)
      if (this.#isOver(run)) return
      this.#tell(run, "pause_events")
      await sleep(random.pick([0, 5, 30, 150]))
      // A cancel ends the pause, and the run.
      if (random.next() < 0.1) return this.#tell(run, "cancel")
      this.#tell(run, "resume_events")
    }
  }

  #tell({ run_id, claim_id }: RunFrame, type: "pause_events" | "resume_events" | "cancel"): void {
    const after = this.#server.received.length
    this.#server.send({ type, run_id, claim_id })
    this.#note(claim_id, type, after)
  }

  #note(claim: string, what: Told["what"], after = this.#server.received.length): void {
    const nonce = String(this.told.length)
    this.told.push({ claim, what, after, nonce })
    this.#server.send({ type: "ping", nonce })
  }

  /** A worker knows of the loss a turn of its event loop after it has read the refusal. */
  async #noteLoss(claim: string): Promise<void> {
    // The refusal is sent before.
    await turn()
    const nonce = `lost ${claim}`
    this.#server.send({ type: "ping", nonce })
    await this.#server.frame(({ header }) => header.type === "pong" && header.nonce === nonce)
    this.#note(claim, "lost")
  }

  #refusalOf(claim: string): { error: string; message: string } | undefined {
    const left = this.#losing.get(claim)
    if (left === undefined) return undefined
    this.#losing.set(claim, left - 1)
    if (left > 0) return undefined
    if (left === 0) this.#losses.push(this.#noteLoss(claim))
    return { error: "ClaimLost", message: "another attempt executes the run" }
  }

  #end(run: RunFrame) {
    return this.#server.frame((frame) => this.#isEnd(run, frame))
  }

  readonly #isOver = (run: RunFrame): boolean => this.#server.received.some((frame) => this.#isEnd(run, frame))

  /** A run that has lost its claim is over when its worker knows. */
  #isEnd({ claim_id }: RunFrame, { header }: Received): boolean {
    if (header.type === "done") return header.claim_id === claim_id
    return (
      header.type === "pong" &&
      this.told.some(({ claim, what, nonce }) => claim === claim_id && what === "lost" && nonce === header.nonce)
    )
  }

  readonly #framesOf = ({ claim_id }: RunFrame): number =>
    this.#server.received.filter(({ header }) => "claim_id" in header && header.claim_id === claim_id).length
}

export const renderConversations = ({ seed, conversations, runs, pauses, broken }: ConversationsReport): string =>
  [
    `seed ${seed}: ${conversations} conversations, ${runs} runs, ${pauses} pauses, ${broken.length} promises broken`,
    ...broken.map((detail) => `conversation: ${detail}`),
  ].join("\n  ")

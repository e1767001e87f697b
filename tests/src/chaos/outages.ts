/**
 * Rounds in which nothing of ours dies, and something happens to the servers (outage-kinds.ts). Every run must be over after it, in its first
 * attempt, and while Postgres is reached no lease may end. The first messages between the servers are lost, and a run that is cancelled by
 * another server must stop all the same.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { sql } from "@superstep/toolkit/db/sql"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import { type Random, seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { heldWithin } from "@superstep/toolkit/testing/until"
import { ConversationClient, clientsAtEach } from "./client.js"
import { conversationOf } from "./conversation.js"
import { keepEvidence } from "./evidence.js"
import { factsOf, readEffects, type ThreadFacts, unfinished } from "./facts.js"
import { type Installation, startInstallation } from "./installation.js"
import { untilExecuting } from "./moments.js"
import { leaseSeconds, type OutageKind, outageKinds, outageOf } from "./outage-kinds.js"
import { judge } from "./verdict.js"

export interface OutagesReport {
  readonly seed: number
  readonly outages: number
  readonly runs: number
  readonly broken: readonly string[]
}

export interface OutagesOptions {
  readonly seed: number
  /** How many rounds, with an outage each. */
  readonly outages: number
  /** Which of them in turn. */
  readonly kinds?: readonly OutageKind[]
  readonly onRound?: (report: OutagesReport) => void
  /** Ends the campaign after the round that is held. */
  readonly signal?: AbortSignal
}

// The limits of a server's statements, one after the other, and a lease.
const overMs = 150_000

export async function outagesCampaign({
  seed,
  outages,
  kinds = outageKinds,
  onRound,
  signal,
}: OutagesOptions): Promise<OutagesReport> {
  await using installation = await startInstallation({
    isCuttable: true,
    // The log of a run is kept until the run is judged.
    env: { SUPERSTEP_LEASE_SECONDS: String(leaseSeconds), RESUMABLE_STREAM_TTL_SECONDS: "3600" },
  })
  const random = seededRandom(seed)
  // A short campaign does not reach every kind: another one begins elsewhere.
  const first = random.between(0, kinds.length - 1)
  let report: OutagesReport = { seed, outages: 0, runs: 0, broken: [] }
  for (let round = 0; round < outages && !signal?.aborted; round++) {
    const kind = kinds[(first + round) % kinds.length] ?? "calm"
    const { runs, broken } = await hold(installation, { round, kind, random })
    report = { seed, outages: round + 1, runs: report.runs + runs, broken: [...report.broken, ...broken] }
    onRound?.(report)
  }
  return report
}

interface Round {
  readonly round: number
  readonly kind: OutageKind
  readonly random: Random
}

async function hold(
  installation: Installation,
  { round, kind, random }: Round,
): Promise<{ runs: number; broken: string[] }> {
  const { servers, db, network, effectsFile } = installation
  const name = (words: string) => `round ${round}, ${kind}, ${words}`
  // They take two to three leases, and both servers have some.
  const long = { steps: 24, stepMs: random.between(500, 700) }
  const conversations = [
    conversationOf({ name: name("sync"), ...long }),
    conversationOf({ name: name("async"), ...long, durability: "async" }),
    conversationOf({ name: name("exit"), ...long, durability: "exit" }),
    conversationOf({ name: name("queued"), steps: 6, turns: 2 }),
  ]
  const clients = clientsAtEach(servers, conversations, random)
  const stopped = addStopped(installation, name("stopped"), random)
  clients.push(stopped)
  const lost = Array.from({ length: 3 }, () => network?.aim(lostMessage))
  const begun = await Promise.all(clients.map((client) => client.begin()))
  const all = Promise.all(begun.map(({ ended }) => ended))
  // It is awaited below.
  all.catch(() => undefined)
  const [first] = clients
  await untilExecuting(installation, ({ run_id, step }) => step >= 2 && first?.acknowledged.includes(run_id) === true)
  // A claim whose reply is lost waits for its lease, and then for its second attempt: no run may be about to be claimed.
  await Promise.all(begun.filter((_, index) => clients[index]?.conversation.turns === 2).map(({ ended }) => ended))
  const leases = watchLeases(installation)
  const { isReached, cause } = outageOf(kind)
  const outcome = await cause({ installation, random, name: name("during"), others: all })
  const overdue = await leases.end()
  const isOver = async () => (await unfinished(db)).length === 0
  // What is not over by then is the finding.
  await heldWithin(isOver, overMs)
  const broken = (await unfinished(db)).map((detail) => `${kind}: ${detail}`)
  for (const aim of lost) aim?.disarm()
  // Only now: connections to a host that has vanished are not reset while servers wait for it.
  network?.heal()
  const evidence = () =>
    keepEvidence(
      installation,
      clients.map(({ threadId }) => threadId),
    )
  if (broken.length > 0) return { runs: 0, broken: [...broken, `evidence in ${await evidence()}`] }
  await all
  broken.push(...(outcome.broken ?? []))
  clients.push(...(outcome.clients ?? []))
  if (isReached) broken.push(...[...overdue].map((serverId) => `lease: the lease of the server ${serverId} has ended`))
  const effects = readEffects(effectsFile)
  const facts = await Promise.all(clients.map(({ threadId }) => factsOf(db, effects, threadId)))
  for (const [index, client] of clients.entries()) {
    const fact = facts[index]
    if (!fact) continue
    broken.push(...judge(client.conversation, fact, client).map(({ promise, detail }) => `${promise}: ${detail}`))
    broken.push(...attemptedAgain(fact))
  }
  const stop = facts[clients.indexOf(stopped)]?.runs[0]
  if (isReached && stop?.runId !== outcome.locked && stop?.status !== "interrupted")
    broken.push(`stop: ${kind}: a run was asked to stop, and is ${stop?.status}`)
  if (broken.length > 0) broken.push(`evidence in ${await evidence()}`)
  return { runs: facts.flatMap(({ runs }) => runs).length, broken }
}

const attemptedAgain = ({ runs }: ThreadFacts): string[] =>
  runs
    .filter(({ attempt }) => attempt > 1)
    .map(({ turn, attempt }) => `attempt: ${turn} has attempt ${attempt}, and no worker or server has died`)

// What servers say to each other: to look for a run, or to stop one.
const lostMessage = { kind: "hold notification", at: /^server_/, forMs: Number.POSITIVE_INFINITY } as const

/** A run that takes half a minute, and is cancelled at once by a server that does not execute it. */
function addStopped({ servers }: Installation, name: string, random: Random): ConversationClient {
  const conversation = conversationOf({ name, steps: 60, stepMs: 500, isCancelled: true })
  const [own, other] = servers
  const url = () => (client.acknowledged.length === 0 ? own : other)?.url ?? ""
  const client: ConversationClient = new ConversationClient(conversation, servers, random, url)
  return client
}

/** Looks for servers whose lease ends while they execute runs. */
function watchLeases({ db }: Installation): { end(): Promise<ReadonlySet<string>> } {
  const found = new Set<string>()
  const over = new AbortController()
  const look = async () => {
    while (!over.signal.aborted) {
      const isOver = sql`lease_until < now() and server_id in (select claimed_by from runs where status = 'running')`
      const rows = await db
        .rows<{ server_id: string }>(sql`select server_id from servers where ${isOver}`)
        .catch((error: unknown) => {
          if (isPassing(error)) return []
          throw error
        })
      for (const { server_id } of rows) found.add(server_id)
      await sleep(200)
    }
  }
  const looking = look()
  const end = async () => {
    over.abort()
    await looking
    return found
  }
  return { end }
}

export const renderOutages = ({ seed, outages, runs, broken }: OutagesReport): string =>
  [`seed ${seed}: ${outages} outages, ${runs} runs, ${broken.length} promises broken`, ...broken].join("\n  ")

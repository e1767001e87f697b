/** Rounds of conversations and kills until enough has been killed; then nothing may be left that is not in order. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { sql } from "@superstep/toolkit/db/sql"
import { identify } from "@superstep/toolkit/exec/process-identity"
import { type Random, seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { heldWithin, until } from "@superstep/toolkit/testing/until"
import { Recorder } from "../histories/call.js"
import { type Judgement, judgeHistory } from "../histories/judge.js"
import { ThreadWriters } from "../histories/writers.js"
import { Aiming, type AimTally, type NamedAim } from "./aims.js"
import { ConversationClient } from "./client.js"
import { keepEvidence } from "./evidence.js"
import { factsOf, readEffects, type ThreadFacts, unfinished } from "./facts.js"
import { type Installation, poolSize, startInstallation, testApplication } from "./installation.js"
import { type Kill, points, targets } from "./kill.js"
import { readMarks } from "./marks.js"
import { makeCheckpointsHoldable } from "./moments.js"
import { type Round, roundOf } from "./schedule.js"
import { carryOut, type Struck } from "./strike.js"
import { type Broken, judge } from "./verdict.js"

export interface CampaignOptions {
  /** Disturbances count as well. */
  readonly kills: number
  /** At least so many, however many a round has killed. */
  readonly rounds?: number
  /** Chooses the schedule; times are the machine's. */
  readonly seed: number
  /** How many servers share the database; more than two are disturbed too (`kill.ts`). */
  readonly servers?: number
  /** How long the servers' leases are, in seconds. */
  readonly leaseSeconds?: number | undefined
  /** How long more than two servers may be cut off from Postgres, in milliseconds. */
  readonly cutMs?: readonly number[] | undefined
  /** Which round is the first; a random one unless told. */
  readonly first?: number
  /**
   * In place of most conversations several clients write to each of some threads, and a judge of histories says whether any order explains
   * what they saw (../histories). The clocks of the servers' workers differ.
   */
  readonly histories?: boolean | undefined
  /** Faults of the way to Postgres that are aimed at while a round is held; each must be hit. */
  readonly aims?: readonly NamedAim[]
  /** Where the calls of each round are written; a folder of the campaign unless told. */
  readonly historiesFolder?: string | undefined
  /** Settings of all servers, by variable. */
  readonly env?: Readonly<Record<string, string>>
  /** The main files of programs of which each server has the next one in each of its lives; default only this clone's. */
  readonly mains?: readonly string[]
  /** Hears of each round as it ends. */
  readonly onRound?: (report: CampaignReport) => void
  /** Ends the campaign after the round that is held. */
  readonly signal?: AbortSignal
}

export interface CampaignReport {
  readonly seed: number
  /** What came of each strike. */
  readonly kills: readonly (Kill & Struck)[]
  readonly conversations: number
  readonly runs: number
  readonly streams: number
  readonly connections: number
  /** How many runs had this many attempts. */
  readonly attempts: ReadonlyMap<number, number>
  readonly broken: readonly Broken[]
  /** How often each promise of docs/durability.md was put to the test, by its id; known when the campaign is over. */
  readonly promises: ReadonlyMap<string, number>
  /** What was judged by histories, in all. */
  readonly judged: Omit<Judgement, "faults">
  /** By the name of the aim. */
  readonly aims: ReadonlyMap<string, AimTally>
}

// A run is over within a few seconds of the last kill, or of a statement's limit; only a lost one uses this up.
const patienceMs = 120_000
// An aim whose statement is rare gets further rounds.
const mostAttempts = 12

/** Kills until the number is reached. Each round is judged before the next one, so that a fault names its round. */
export async function campaign({
  kills,
  seed,
  servers = 2,
  leaseSeconds: wantedLeaseSeconds,
  cutMs = [5_000, 20_000, 60_000],
  rounds = 1,
  first: wanted,
  histories = false,
  historiesFolder,
  aims = [],
  env,
  mains = [],
  onRound,
  signal,
}: CampaignOptions): Promise<CampaignReport> {
  const isDisturbed = servers > 2
  // A run whose claim got no reply waits for a lease.
  const leaseSeconds = wantedLeaseSeconds ?? (aims.length > 0 ? 6 : 10)
  const lease = { SUPERSTEP_LEASE_SECONDS: String(leaseSeconds) }
  await using installation = await startInstallation({
    servers,
    isCuttable: isDisturbed || aims.length > 0,
    ...(histories && { clockAheadMs }),
    // Draining takes as long as a run at most: what is not over then goes back to the queue.
    env: { BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "1", ...lease, ...(isDisturbed && { SUPERSTEP_WORKERS: "1" }), ...env },
    ...(mains.length > 0 && { mainOf: (server, life) => mains[(server + life) % mains.length] ?? "" }),
    prepare: makeCheckpointsHoldable,
  })
  // By then others have looked for leases that ended.
  const disturbed = isDisturbed ? { pauseMs: leaseSeconds * 1500, cutMs } : undefined
  // What is chosen while a round goes on depends on how fast the machine is: it must not change the rounds that follow.
  const [schedule, random] = [seededRandom(seed), seededRandom(~seed)]
  const { network } = installation
  const aiming = network && aims.length > 0 ? new Aiming(network, aims, random) : undefined
  let report: CampaignReport = { ...emptyReport(seed), ...(aiming && { aims: aiming.tally }) }
  // A short campaign does not reach every point and target: another one begins elsewhere.
  const chance = schedule.between(0, points.length * targets.length - 1)
  const first = wanted ?? chance
  const goesOn = () => sum(report.kills) < kills || missed(report.aims, mostAttempts).length > 0
  for (let number = first; !signal?.aborted && (number < first + rounds || goesOn()); number++) {
    const round = roundOf(number, schedule, { folder: installation.folder, disturbed })
    const recorder = new Recorder(join(historiesFolder ?? installation.folder, `seed-${seed}-round-${number}.jsonl`))
    const holds = env?.SUPERSTEP_PYTHON === undefined ? "doubles" : "all"
    const writers = histories ? writersOf(round, schedule, { installation, random, recorder, holds }) : undefined
    const result = await hold(histories ? withWriters(round) : round, { installation, random, writers, aiming })
    report = added(report, result)
    onRound?.(report)
  }
  const missedAims = missed(report.aims, Number.POSITIVE_INFINITY)
  const ended = [
    ...missedAims.map((detail): Broken => ({ promise: "aim", detail })),
    ...(await neverOver(installation)),
    ...(await leftBehind(installation)),
  ]
  const { promises, brokenRules } = readMarks(installation.servers.map(({ logFile }) => readFileSync(logFile, "utf8")))
  ended.push(...brokenRules.map((detail): Broken => ({ promise: "rule", detail })))
  const broken = [...report.broken, ...(await withEvidence(installation, [], ended))]
  return { ...report, promises: sorted(promises), broken }
}

/** Aims that were never hit, in fewer attempts than so many. */
function missed(aims: CampaignReport["aims"], attempted: number): string[] {
  return [...aims].filter(([, { attempts, hits }]) => hits === 0 && attempts < attempted).map(([name]) => name)
}

interface RoundResult {
  readonly kills: CampaignReport["kills"]
  readonly clients: readonly ConversationClient[]
  readonly facts: readonly ThreadFacts[]
  readonly broken: readonly Broken[]
  readonly judged?: Judgement
}

// More than a run of a thread takes, so that one that follows on another server begins within it.
const clockAheadMs = 2_000
const sharedThreads = 4

/** The conversation at which strikes are aimed remains: the others would only take time from the writers. */
const withWriters = (round: Round): Round => ({ ...round, conversations: round.conversations.slice(0, 1) })

interface Writers {
  /** Resolves when all clients have made their calls. */
  write(): Promise<void>
  /** Reads the threads, and judges all calls. @throws Error  a run is never over */
  judge(): Promise<Judgement>
}

interface WriterParts {
  readonly installation: Installation
  readonly random: Random
  readonly recorder: Recorder
  /** Which numbers the graphs can hold. */
  readonly holds: "doubles" | "all"
}

function writersOf(
  { number }: Round,
  schedule: Random,
  { installation, random, recorder, holds }: WriterParts,
): Writers {
  const url = () => {
    const living = installation.servers.filter(({ isRunning, isPaused }) => isRunning && !isPaused)
    return random.pick(living.length > 0 ? living : installation.servers).url
  }
  const threads = Array.from({ length: sharedThreads }, (_, index) => {
    const shared = { name: `r${number}t${index}`, seed: schedule.between(0, 2 ** 31), writers: 3, calls: 12, holds }
    return new ThreadWriters(shared, { recorder, db: installation.db, url })
  })
  const judge = async () => {
    await Promise.all(threads.map((thread) => thread.readLast()))
    return judgeHistory(recorder.calls)
  }
  return { write: async () => void (await Promise.all(threads.map((thread) => thread.write()))), judge }
}

interface RoundParts {
  readonly installation: Installation
  readonly random: Random
  readonly writers: Writers | undefined
  readonly aiming: Aiming | undefined
}

async function hold(round: Round, { installation, random, writers, aiming }: RoundParts): Promise<RoundResult> {
  const clients = round.conversations.map((one) => new ConversationClient(one, installation.servers, random))
  const [first] = clients
  if (!first) throw new Error("a round has a main conversation")
  let begun: Promise<{ readonly ended: Promise<void> }[]> | undefined
  let written: Promise<void> | undefined
  const begin = async () => {
    // It is awaited at the end of the round.
    written ??= writers?.write()
    written?.catch(() => undefined)
    const all = clients.map((client) => client.begin())
    begun ??= Promise.all(all)
    // It is awaited at the end of the round.
    begun.catch(() => undefined)
    await all[0]
    return first
  }
  const disconnect = () => {
    for (const client of clients) client.disconnect()
  }
  const calm = new AbortController()
  const aimed = aiming?.during(calm.signal)
  const kills: (Kill & Struck)[] = []
  for (const { target, point, ...strike } of round.strikes) {
    // Also a run that is just being created may be hit.
    if (point === "random" && !begun) void begin().catch(() => undefined)
    const struck = await carryOut(
      { target, point, ...strike },
      { installation, random, begin, main: () => first, disconnect },
    )
    kills.push({ target, point, ...struck })
  }
  await installation.untilWhole()
  const faults: Broken[] = []
  const conversations = (await begun) ?? []
  for (const [index, { ended }] of conversations.entries()) {
    const name = round.conversations[index]?.name
    await ended.catch((error: unknown) => faults.push({ promise: "lost", detail: `${name}: its client: ${error}` }))
  }
  await written
  calm.abort()
  await aimed
  const facts = await untilOver(installation, clients)
  const judged = await writers?.judge()
  for (const detail of judged?.faults ?? []) faults.push({ promise: "history", detail })
  const verdicts = await Promise.all(clients.map((client, index) => verdictOn(client, facts[index])))
  const broken = await withEvidence(installation, clients, [...faults, ...verdicts.flat()])
  // What nodes told is read again and again: only of this round, else a long campaign would spend its time on it.
  writeFileSync(installation.effectsFile, "")
  return { kills, clients, facts, broken, ...(judged && { judged }) }
}

/** @returns  what is broken, each with the folder that holds the evidence */
async function withEvidence(
  installation: Installation,
  clients: readonly ConversationClient[],
  broken: readonly Broken[],
): Promise<readonly Broken[]> {
  if (broken.length === 0) return broken
  const threads = clients.map(({ threadId }) => threadId)
  const folder = await keepEvidence(installation, threads)
  return broken.map(({ promise, detail }) => ({ promise, detail: `${detail} (evidence in ${folder})` }))
}

async function verdictOn(client: ConversationClient, facts: ThreadFacts | undefined): Promise<Broken[]> {
  if (!facts) return []
  const { conversation, acknowledged, streams, followers, joined } = client
  const over = facts.runs.filter(({ status }) => status !== "pending" && status !== "running")
  const reread = await client.readAgain(over.map(({ runId }) => runId))
  return judge(conversation, facts, { acknowledged, streams, followers, joined, reread })
}

/** Waits until no run of the threads can change any more, or patience ends; the verdict then names those that can. */
async function untilOver(
  { db, effectsFile }: Installation,
  clients: readonly ConversationClient[],
): Promise<ThreadFacts[]> {
  const threads = clients.map(({ threadId }) => threadId)
  const isOver = async () => {
    const open = await db.row(sql`
      select from runs where thread_id = any (${threads}::uuid[]) and status in ('pending', 'running') limit 1`)
    return open === undefined
  }
  // What is not over by then is the finding, named by the facts.
  await heldWithin(isOver, patienceMs)
  const effects = readEffects(effectsFile)
  return Promise.all(threads.map((threadId) => factsOf(db, effects, threadId)))
}

/** Of all threads: also a run whose acknowledgement was lost, which no client knows, comes to its end. */
async function neverOver({ db }: Installation): Promise<Broken[]> {
  const areOver = async () => (await unfinished(db)).length === 0
  // What is not over by then is the finding, named by the next line.
  await heldWithin(areOver, patienceMs)
  return (await unfinished(db)).map((detail) => ({ promise: "lost", detail }))
}

/** Connections of servers, those of killed ones too. */
const connectionsOf = ({ db }: Installation) =>
  db.rows<{ query: string }>(sql`
    select query from pg_stat_activity where datname = current_database() and application_name <> ${testApplication}`)

/**
 * Servers that live have no more connections than their pools and one that listens. Those that stop in good order end
 * with 0, and leave no process and no connection.
 */
async function leftBehind(installation: Installation): Promise<Broken[]> {
  const { servers } = installation
  const most = servers.length * (poolSize + 1)
  const faults: string[] = []
  const isWithin = async () => (await connectionsOf(installation)).length <= most
  await until(isWithin, { what: `at most ${most} connections` }).catch((error: Error) => faults.push(error.message))
  const workers = servers.flatMap((server) => server.workerPids())
  const codes = await Promise.all(servers.map((server) => server.stop()))
  faults.push(...codes.filter((code) => code !== 0).map((code) => `a server ended with ${code}`))
  const living = (await Promise.all(workers.map(identify))).filter((identity) => identity !== undefined)
  faults.push(...living.map(({ pid }) => `worker ${pid} is left behind`))
  const left = await connectionsOf(installation)
  faults.push(...left.map(({ query }) => `a connection is left behind: ${query}`))
  return faults.map((detail) => ({ promise: "left", detail }))
}

const numberOf = (id: string): number => Number(id.slice(1))
const sorted = (promises: ReadonlyMap<string, number>) =>
  new Map([...promises].sort(([one], [two]) => numberOf(one) - numberOf(two)))

const sum = (kills: CampaignReport["kills"]): number => kills.reduce((all, { count }) => all + count, 0)

const emptyReport = (seed: number): CampaignReport => ({
  seed,
  kills: [],
  conversations: 0,
  runs: 0,
  streams: 0,
  connections: 0,
  attempts: new Map(),
  broken: [],
  promises: new Map(),
  judged: { threads: 0, calls: 0, unknown: 0, undecided: [] },
  aims: new Map(),
})

function added(report: CampaignReport, { kills, clients, facts, broken, judged }: RoundResult): CampaignReport {
  const runs = facts.flatMap((fact) => fact.runs)
  const attempts = new Map(report.attempts)
  for (const { attempt } of runs) attempts.set(attempt, (attempts.get(attempt) ?? 0) + 1)
  const streams = clients.map((client) => client.streams.size).reduce((one, two) => one + two, 0)
  const connections = clients.map((client) => client.connections).reduce((one, two) => one + two, 0)
  return {
    seed: report.seed,
    aims: report.aims,
    kills: [...report.kills, ...kills],
    conversations: report.conversations + clients.length,
    runs: report.runs + runs.length,
    streams: report.streams + streams,
    connections: report.connections + connections,
    attempts,
    broken: [...report.broken, ...broken],
    promises: report.promises,
    judged: {
      threads: report.judged.threads + (judged?.threads ?? 0),
      calls: report.judged.calls + (judged?.calls ?? 0),
      unknown: report.judged.unknown + (judged?.unknown ?? 0),
      undecided: [...report.judged.undecided, ...(judged?.undecided ?? [])],
    },
  }
}

/** Reads a run: the first time all of it, then only what is new. */
import type { Agent } from "../agent/use-agent.js"
import { ApiError, jsonOf } from "../requests/api-error.js"
import { requestPath } from "../requests/request-path.js"
import type { Attempts, RunInfo, StateInfo, TimedEvent, TraceSpan } from "./run-data.js"
import { idOf, joinedStates, missingParents, requestedBase } from "./states.js"
import type { RunHistory } from "./waterfall.js"

// Enough for long runs; a run of more super-steps shows its last ones.
export const historyLimit = 200
// A running run writes few checkpoints between two readings.
const newStates = 10
const eventsPage = 1000
const tracePage = 1000
// More would make the page heavy. A run in flight is followed to its newest events.
export const maxEvents = 5000

export interface RunPlace {
  readonly threadId: string
  readonly runId: string
}

/** The requests of the page, as paths and bodies: also for "copy as curl". */
export const requestsOf = ({ threadId, runId }: RunPlace) => {
  const path = requestPath`/threads/${threadId}/runs/${runId}`
  return {
    run: path,
    attempts: `${path}/attempts`,
    events: `${path}/events?limit=${eventsPage}`,
    trace: `${path}/trace`,
    history: {
      path: requestPath`/threads/${threadId}/history`,
      body: { limit: historyLimit, metadata: { run_id: runId } },
    },
  }
}

export const isOver = ({ status }: RunInfo): boolean => status !== "pending" && status !== "running"

/** How often a run that is not over is read. */
export const refreshMs = 2000
// The server of the run writes its last spans some tenths of a second after its end, where the run may seem over at another server.
const lastSpansMs = 5000
const lastSpansRefreshMs = 1000

/**
 * When the page reads a run again, in milliseconds; false: never, it is over and complete. Pure.
 * For a moment after the end, spans may be about to be written: all of them, or the ends of some.
 */
export function nextReadMs({ run, attempts, trace }: RunHistory): number | false {
  if (!isOver(run)) return refreshMs
  const hasJustEnded = Date.parse(attempts.now) - Date.parse(run.updated_at) < lastSpansMs
  const last = attempts.attempts.at(-1)?.attempt
  const own = trace.filter(({ attempt }) => attempt === last)
  const lacksSpans = own.length === 0 || own.some(({ status }) => status === "running")
  return hasJustEnded && lacksSpans ? lastSpansRefreshMs : false
}

/** @param before  what was read the last time */
export async function readRun(agent: Agent, place: RunPlace, before: RunHistory | undefined): Promise<RunHistory> {
  const { run: runPath, attempts: attemptsPath } = requestsOf(place)
  const read = reader(agent)
  // The run first: what is read after its end is complete.
  const run = await read<RunInfo>(runPath)
  const [attempts, states, events, trace] = await Promise.all([
    read<Attempts>(attemptsPath),
    // After its end all states are read once more: what was read while a worker wrote it may lack results.
    readStates(read, place, { run, before: isOver(run) ? [] : (before?.states ?? []) }),
    readEvents(agent, place, before?.events ?? []),
    readTrace(agent, place),
  ])
  return { run, attempts, states, events, trace }
}

type Read = <Reply>(path: string, init?: RequestInit) => Promise<Reply>

const reader =
  (agent: Pick<Agent, "fetch">): Read =>
  async (path, init) =>
    (await jsonOf(await agent.fetch(path, init))) as never

interface Known {
  readonly run: RunInfo
  readonly before: readonly StateInfo[]
}

/** The states of the run, then those from which it went on. */
async function readStates(read: Read, place: RunPlace, { run, before }: Known): Promise<StateInfo[]> {
  const isOfRun = ({ metadata }: StateInfo) => metadata?.run_id === place.runId
  const own = await readOwnStates(read, place, before.filter(isOfRun))
  if (own.length === 0) return readBase(read, place, run)
  const bases = before.filter((state) => !isOfRun(state))
  const missing = missingParents(own).filter((id) => !bases.some((base) => idOf(base) === id))
  const more = await Promise.all(missing.map((id) => readState(read, place, id)))
  return [...own, ...bases, ...more.flat()]
}

/** The checkpoints that a run has written, and those from which it went on; the newest first. */
export async function readCheckpoints(agent: Pick<Agent, "fetch">, place: RunPlace): Promise<StateInfo[]> {
  const read = reader(agent)
  const own = await readOwnStates(read, place, [])
  const bases = await Promise.all(missingParents(own).map((id) => readState(read, place, id)))
  return [...own, ...bases.flat()].sort((a, b) => ((idOf(a) ?? "") < (idOf(b) ?? "") ? 1 : -1))
}

async function readOwnStates(read: Read, place: RunPlace, known: readonly StateInfo[]): Promise<StateInfo[]> {
  const ids = new Set(known.map(idOf))
  const limit = known.length === 0 ? historyLimit : newStates
  const newer: StateInfo[] = []
  while (newer.length < historyLimit) {
    const last = newer.at(-1)
    const body = { metadata: { run_id: place.runId }, limit, ...(last && { before: idOf(last) }) }
    const page = await readHistory(read, place, body)
    newer.push(...page)
    // The newest known one is read again: its tasks had no results yet.
    if (page.length < limit || page.some((state) => ids.has(idOf(state)))) break
  }
  return joinedStates(newer, known).slice(0, historyLimit)
}

/** From where a run went on that has saved no state yet: where it was asked to, else at the thread's newest state of its time. */
async function readBase(read: Read, place: RunPlace, run: RunInfo): Promise<StateInfo[]> {
  if (run.status === "pending") return []
  const requested = requestedBase(run)
  if (requested !== undefined) return readState(read, place, requested)
  return readHistory(read, place, { limit: isOver(run) ? historyLimit : 1 })
}

/** @returns nothing if the state was deleted */
async function readState(read: Read, { threadId }: RunPlace, checkpointId: string): Promise<StateInfo[]> {
  try {
    return [await read<StateInfo>(requestPath`/threads/${threadId}/state/${checkpointId}`)]
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}

const readHistory = (read: Read, place: RunPlace, body: object): Promise<StateInfo[]> =>
  read(requestsOf(place).history.path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })

async function readEvents(agent: Agent, place: RunPlace, before: readonly TimedEvent[]): Promise<TimedEvent[]> {
  const events = [...before]
  const most = before.length + maxEvents
  // A page of large events is short; only the header says whether more follow.
  for (let after: string | null = events.at(-1)?.id ?? "-1"; after !== null && events.length < most; ) {
    const reply: Response = await agent.fetch(`${requestsOf(place).events}&after=${after}`)
    events.push(...((await jsonOf(reply)) as TimedEvent[]))
    after = reply.headers.get("x-pagination-next")
  }
  return events.slice(-maxEvents)
}

/** All of it each time: a span changes when it ends. @returns  nothing of an agent whose release has no traces */
async function readTrace(agent: Agent, place: RunPlace): Promise<TraceSpan[]> {
  const spans: TraceSpan[] = []
  for (let after: string | null = "-1"; after !== null; ) {
    const query = new URLSearchParams({ content: "false", limit: String(tracePage), after })
    const reply: Response = await agent.fetch(`${requestsOf(place).trace}?${query}`)
    if (reply.status === 404) return []
    spans.push(...((await jsonOf(reply)) as TraceSpan[]))
    after = reply.headers.get("x-pagination-next")
  }
  return spans
}

/** One span with its input and output. @returns  null when it is not kept any more */
export async function readSpan(agent: Agent, place: RunPlace, id: string): Promise<TraceSpan | null> {
  const page = await jsonOf(await agent.fetch(`${requestsOf(place).trace}?after=${Number(id) - 1}&limit=1`))
  // After a deletion it is the next one, if any.
  return (page as TraceSpan[]).find((span) => span.id === id) ?? null
}

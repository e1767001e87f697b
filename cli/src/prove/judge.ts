/**
 * Judges what clients of any graph saw. Nothing is known of the graph but what it does undisturbed. Pure: each promise gives a sentence for
 * each time that it was broken.
 */
import type { ReceivedEvent } from "./event-client.js"
import type { HistoryEntry, RunFacts, ThreadFacts } from "./facts.js"
import { holesInLog, holesInReread, holesInStream } from "./judge-streams.js"

/** What a graph does when nothing attacks it. */
export interface Undisturbed {
  /** The statuses with which the runs of a conversation ended, by their place in it. */
  readonly statuses: readonly ReadonlySet<string>[]
  /** The final state, without ids and times; undefined when it differs from time to time. */
  readonly values: string | undefined
  /** Whether the messages of inputs stay in the state. */
  readonly keepsMessages: boolean
}

export interface Promised {
  readonly id: string
  /** For users. */
  readonly words: string
  readonly judge: (facts: ThreadFacts, undisturbed: Undisturbed) => string[]
  /** Why it says nothing of a graph. */
  readonly isNotJudged?: (undisturbed: Undisturbed) => string | undefined
}

export interface Broken {
  readonly promise: Promised
  readonly detail: string
}

const finalStatuses = new Set(["success", "error", "interrupted", "timeout"])
const isFinal = (status: string): boolean => finalStatuses.has(status)

export const promises: readonly Promised[] = [
  { id: "ended", words: "each acknowledged run ended, and kept its final status", judge: notEnded },
  { id: "status", words: "no run failed that does not fail undisturbed", judge: otherEnds },
  { id: "once", words: "a repeated request made no second run", judge: madeTwice },
  { id: "input", words: "each input was applied once, in the order of the requests", judge: wrongInputs },
  {
    id: "messages",
    words: "each input message is in the state once, in that order",
    judge: wrongMessages,
    isNotJudged: ({ keepsMessages }) =>
      keepsMessages ? undefined : "the graph has no `messages`, or does not keep all of them",
  },
  { id: "chain", words: "the history of each thread is one chain of steps", judge: brokenChain },
  { id: "reads", words: "what a client had read did not disappear", judge: disappeared },
  { id: "streams", words: "each stream had every event once, in order, on any server", judge: holes },
  {
    id: "values",
    words: "each final state is that of undisturbed runs",
    judge: otherValues,
    isNotJudged: ({ values }) =>
      values === undefined ? "the graph answers differently each time: its answers are not compared" : undefined,
  },
  {
    id: "replies",
    words: "each request was answered, or refused for the moment (503)",
    judge: ({ faults }) => [...faults],
  },
]

/** Only of what can be judged of this graph. */
export const judge = (facts: ThreadFacts, undisturbed: Undisturbed): Broken[] =>
  promises
    .filter(({ isNotJudged }) => isNotJudged?.(undisturbed) === undefined)
    .flatMap((promise) =>
      promise.judge(facts, undisturbed).map((detail) => ({ promise, detail: `${facts.name}: ${detail}` })),
    )

/** @param calm  what was seen of some conversations with the same inputs that nothing attacked */
export function learn(calm: readonly ThreadFacts[]): Undisturbed {
  const places = Math.max(0, ...calm.map(({ runs }) => runs.length))
  const statuses = Array.from(
    { length: places },
    (_, place) => new Set(calm.map(({ runs }) => runs[place]?.status ?? "")),
  )
  const values = new Set(calm.map((facts) => comparable(facts.values)))
  const [only] = values
  const keepsMessages = calm.every((facts) => wrongMessages(facts).length === 0)
  return { statuses, values: values.size === 1 ? only : undefined, keepsMessages }
}

function notEnded({ runs, allRunIds }: ThreadFacts): string[] {
  return runs.flatMap(({ runId, status, statuses }) => {
    if (!allRunIds.includes(runId)) return [`run ${runId} was acknowledged and is gone`]
    if (!isFinal(status)) return [`run ${runId} is still ${status}`]
    const first = statuses.findIndex(isFinal)
    const others = first < 0 ? [] : [...statuses.slice(first), status].filter((one) => one !== statuses[first])
    return others.length > 0 ? [`run ${runId} was ${statuses[first]}, and then ${others[0]}`] : []
  })
}

function otherEnds({ runs }: ThreadFacts, { statuses }: Undisturbed): string[] {
  return runs.flatMap(({ runId, status, error }, place) => {
    const isBad = status === "error" || status === "timeout"
    if (!isBad || statuses[place]?.has(status)) return []
    return [`run ${runId} ended as ${status}: ${error ?? "without an error in its stream"}`]
  })
}

/** Clients repeat a request whose reply was lost, with the same key. */
function madeTwice({ runs, allRunIds }: ThreadFacts): string[] {
  const known = new Set(runs.map(({ runId }) => runId))
  return allRunIds.filter((id) => !known.has(id)).map((id) => `run ${id} is there, and no request got it as its reply`)
}

function wrongInputs({ runs, history, isHistoryCut }: ThreadFacts): string[] {
  if (isHistoryCut) return []
  const applied = history.filter(({ source }) => source === "input").map(({ runId }) => runId)
  const counts = runs.flatMap(({ runId, status }) => {
    const count = applied.filter((id) => id === runId).length
    // One that failed before its first step has saved nothing.
    return count === 1 || (count === 0 && status === "error")
      ? []
      : [`the input of run ${runId} was applied ${count} times`]
  })
  const asked = runs.map(({ runId }) => runId).filter((id) => applied.includes(id))
  const inOrder = [...new Set(applied)].join() === asked.join()
  return [...counts, ...(inOrder ? [] : [`inputs were applied in the order ${applied.join(", ")}`])]
}

function wrongMessages({ runs, values }: ThreadFacts): string[] {
  const messages = (Object(values) as { messages?: unknown }).messages
  const ids = Array.isArray(messages) ? messages.map((message) => String(Object(message).id)) : []
  const wanted = runs.map(({ messageId }) => messageId)
  const found = ids.filter((id) => wanted.includes(id))
  return found.join() === wanted.join()
    ? []
    : [`its input messages are ${wanted.join(", ")}; in the state are ${found.join(", ") || "none"}`]
}

function brokenChain({ history, isHistoryCut }: ThreadFacts): string[] {
  const faults: string[] = []
  const attempts = new Map<string, number>()
  history.forEach((entry, index) => {
    const before = history[index - 1]
    if (before) faults.push(...wrongLink(before, entry))
    else if (!isHistoryCut && entry.parentId !== null) faults.push(`the state before step ${entry.step} is gone`)
    const { runId, attempt, step } = entry
    const former = attempts.get(runId) ?? 0
    if (attempt < former) faults.push(`step ${step} is of attempt ${attempt}, after a step of attempt ${former}`)
    attempts.set(runId, Math.max(former, attempt))
  })
  return faults
}

function wrongLink(before: HistoryEntry, entry: HistoryEntry): string[] {
  const isNext = entry.parentId === before.checkpointId
  if (!isNext)
    return [`step ${entry.step} does not follow the state before it (step ${before.step}): the history forks`]
  return entry.step === before.step + 1 ? [] : [`step ${entry.step} follows step ${before.step}`]
}

function disappeared({ reads, history, isHistoryCut }: ThreadFacts): string[] {
  if (isHistoryCut) return []
  const all = [...reads, history.map(({ checkpointId }) => checkpointId)]
  return all.flatMap((later, index) => {
    const earlier = all[index - 1] ?? []
    const missing = earlier.find((id, at) => later[at] !== id)
    return missing === undefined ? [] : [`a client had read the state ${missing}, and a later one did not get it`]
  })
}

function holes({ runs }: ThreadFacts): string[] {
  return runs.flatMap((run) => holesOf(run).map((detail) => `run ${run.runId}: ${detail}`))
}

function holesOf({ stream, follower, logs, status }: RunFacts): string[] {
  const [log] = logs
  // Of a run that never ended there is no whole log; `ended` says so.
  if (!log || !isFinal(status)) return []
  return [
    ...holesInLog(log),
    ...logs.slice(1).flatMap((other) => holesInReread(other, log)),
    ...holesInStream(stream, log),
    ...holesInStream(follower, log),
    ...endsOf(log, status),
  ]
}

/** The end that clients are told is the run's. */
function endsOf(log: readonly ReceivedEvent[], status: string): string[] {
  const ends = log.filter(({ event }) => event === "end")
  const told = ends.map(({ data }) => String(Object(data).status))
  return told.length === 1 && told[0] === status
    ? []
    : [`its stream ended as ${told.join(" and ") || "nothing"}, and it is ${status}`]
}

function otherValues(facts: ThreadFacts, undisturbed: Undisturbed): string[] {
  const [found, expected] = [comparable(facts.values), undisturbed.values]
  // A run that failed has another state: it is told once.
  if (found === expected || expected === undefined || otherEnds(facts, undisturbed).length > 0) return []
  return [`its state is ${shortened(found)}, and undisturbed it is ${shortened(expected)}`]
}

const shortened = (text: string): string => (text.length > 1000 ? `${text.slice(0, 1000)}…` : text)

// Fields of messages and of most states that differ each time.
const volatile = /^(id|.*_id|created|timestamp|.*_at|response_metadata|usage_metadata)$/
const changing = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d([T ][\d:.]+(Z|[+-]\d\d:?\d\d)?)?/gi

/** A state as text, without ids and times. */
export const comparable = (values: unknown): string =>
  JSON.stringify(values, (name, value: unknown) => {
    if (volatile.test(name)) return undefined
    return typeof value === "string" ? value.replaceAll(changing, "…") : value
  }) ?? "nothing"

/**
 * Judges what came of a thread. Pure: each function is one promise, and gives a sentence for each time it was broken.
 *
 * What an attempt after a kill may execute again, by durability:
 * - `sync`: only the super-step that was in flight. One whose successor has begun is committed: each super-step starts from a
 *   checkpoint that is saved, in every attempt.
 * - `async`: those whose checkpoints were not saved yet. LangGraph saves them one after the other while the graph goes on,
 *   and never waits: usually that is the super-step before the one in flight, and more while Postgres is slow or away.
 * - `exit`: the whole run, since its only checkpoint comes at its end.
 * What was committed never executes again, whatever the mode.
 */
import type { ReceivedEvent } from "superstep/prove/event-client"
import { attemptOf, holesInLog, holesInReread, holesInStream } from "superstep/prove/judge-streams"
import { type Conversation, eventsOf, messagesOf, statusOf, turnName } from "./conversation.js"
import type { CheckpointFact, Execution, RunFact, ThreadFacts } from "./facts.js"

export type Promised =
  | "lost"
  | "unsaved"
  | "repeated"
  | "state"
  | "attempt"
  | "hole"
  | "left"
  | "history"
  | "rule"
  | "aim"

export interface Broken {
  readonly promise: Promised
  readonly detail: string
}

/** What clients of a conversation saw: the ids of runs that the server acknowledged, and their streams. */
export interface Seen {
  readonly acknowledged: readonly string[]
  readonly streams: ReadonlyMap<string, readonly ReceivedEvent[]>
  /** What clients that came when all was over got from the beginning. */
  readonly reread?: ReadonlyMap<string, readonly ReceivedEvent[]>
  /** What clients got that came while the run executed and read its stream from the beginning. */
  readonly followers?: ReadonlyMap<string, readonly ReceivedEvent[]>
  /** The values that clients got who waited for a run's end. */
  readonly joined?: ReadonlyMap<string, unknown>
}

export function judge(conversation: Conversation, facts: ThreadFacts, seen: Seen): Broken[] {
  const broken = [
    ...lostRuns(conversation, facts, seen),
    ...wrongState(conversation, facts),
    ...repeatedCheckpoints(facts),
  ]
  facts.runs.forEach((run, turn) => {
    const executions = facts.executions.filter(({ run_id }) => run_id === run.runId)
    const log = facts.logs.get(run.runId) ?? []
    broken.push(...unsavedOrigins(facts, run, executions), ...repeatedNodes(facts, run, executions))
    broken.push(...wrongAttempts(run, executions, log))
    broken.push(...wrongContents(conversation, turn, log, "its log"))
    const again = seen.reread?.get(run.runId)
    const forClients = log.filter(({ event }) => event !== "result")
    const holes = [...holesInLog(log), ...(again ? holesInReread(again, forClients) : [])]
    for (const stream of [seen.streams.get(run.runId), seen.followers?.get(run.runId)]) {
      if (!stream) continue
      holes.push(...holesInStream(stream, forClients))
      broken.push(...wrongContents(conversation, turn, stream, "a stream"))
    }
    broken.push(...holes.map((detail): Broken => ({ promise: "hole", detail: `${run.turn}: ${detail}` })))
  })
  broken.push(...wrongJoins(facts, seen))
  return broken.map(({ promise, detail }) => ({ promise, detail: `${conversation.name}: ${detail}` }))
}

/** Every acknowledged run is there and ends as its graph does; so does one whose acknowledgement was lost on its way. */
function lostRuns(conversation: Conversation, { runs, status }: ThreadFacts, { acknowledged }: Seen): Broken[] {
  const lost: string[] = acknowledged
    .filter((id) => !runs.some(({ runId }) => runId === id))
    .map((id) => `run ${id} was acknowledged and is gone`)
  runs.forEach((run, turn) => {
    const expected = statusOf(conversation, turn)
    // One that was cancelled may have been quicker.
    const isExpected = run.status === expected || (conversation.isCancelled && run.status === "interrupted")
    if (!isExpected) lost.push(`${run.turn} (${run.runId}) is ${run.status}: ${run.error}`)
  })
  const isAsking = runs.length > 0 && statusOf(conversation, runs.length - 1) === "interrupted"
  const atRest = isAsking ? ["interrupted"] : conversation.isCancelled ? ["idle", "interrupted"] : ["idle"]
  if (!atRest.includes(status)) lost.push(`its thread is ${status}`)
  return lost.map((detail) => ({ promise: "lost", detail }))
}

/** Each input is in the state once, and so is each message that a node added. */
function wrongState(conversation: Conversation, { runs, values }: ThreadFacts): Broken[] {
  const all = runs.flatMap((_, turn) => messagesOf(conversation, turn))
  // What was cancelled has as much of it as was saved.
  const messages = conversation.isCancelled ? all.slice(0, values.messages?.length ?? 0) : all
  if (messages.length === 0 && conversation.isCancelled) return []
  const inputs = messages.filter((message) => message.endsWith(":in")).length
  const same = JSON.stringify(values.messages) === JSON.stringify(messages) && values.count === messages.length - inputs
  return same ? [] : [{ promise: "state", detail: `its state is ${JSON.stringify(values)}` }]
}

/** A super-step is committed once: two checkpoints of one step are two branches of a thread that never forked. */
function repeatedCheckpoints({ checkpoints }: ThreadFacts): Broken[] {
  const steps = checkpoints.map(({ step }) => step)
  const twice = steps.filter((step, index) => steps.indexOf(step) !== index)
  return twice.map((step) => ({ promise: "repeated", detail: `super-step ${step} has two checkpoints` }))
}

/** Who waited for the end of a run got the state that it ended in. */
function wrongJoins({ values }: ThreadFacts, { joined = new Map() }: Seen): Broken[] {
  const wrong = [...joined].filter(
    ([, value]) => JSON.stringify(Object(value).messages) !== JSON.stringify(values.messages),
  )
  return wrong.map(([runId, value]) => ({
    promise: "state",
    detail: `a join of ${runId} got ${JSON.stringify(value)}`,
  }))
}

function repeatedNodes({ checkpoints }: ThreadFacts, run: RunFact, executions: readonly Execution[]): Broken[] {
  const repeated: string[] = []
  const own = checkpoints.filter(({ runId }) => runId === run.runId)
  for (const { node, step, attempt } of executions) {
    const committed = own.find((checkpoint) => checkpoint.step >= step && checkpoint.attempt < attempt)
    if (committed) {
      const when = `attempt ${committed.attempt} had saved checkpoint ${committed.step}`
      repeated.push(`${node} of super-step ${step} executed in attempt ${attempt} although ${when}`)
    }
    const earlier = executions.filter((one) => one.node === node && one.step === step && one.attempt === attempt)
    if (earlier.length > 1) repeated.push(`${node} of super-step ${step} executed twice in attempt ${attempt}`)
  }
  return repeated.map((detail) => ({ promise: "repeated", detail: `${run.turn} (${run.durability}): ${detail}` }))
}

/** With `sync` no super-step starts from a checkpoint that is not saved, nor from one of another graph than the root. */
function unsavedOrigins({ checkpoints }: ThreadFacts, run: RunFact, executions: readonly Execution[]): Broken[] {
  if (run.durability !== "sync") return []
  const saved = new Set<string | null | undefined>(checkpoints.map(({ id }) => id))
  const own = checkpoints.filter(({ runId }) => runId === run.runId)
  return executions
    .filter(({ from, ns }) => !saved.has(from) || ns.includes("|"))
    .map(({ node, step, attempt, from, ns }) => ({
      promise: "unsaved",
      detail: `${run.turn}: ${node} of super-step ${step}, attempt ${attempt}, started as ${ns} from ${from}: ${historyOf(own, executions)}`,
    }))
}

/** What explains a rare failure: which process executed what in which attempt, and which attempt saved what is left. */
const historyOf = (checkpoints: readonly CheckpointFact[], executions: readonly Execution[]): string => {
  const executed = executions.map(({ attempt, node, step, pid }) => `${attempt}/${step} ${node} in ${pid}`)
  const saved = checkpoints.map(({ attempt, step }) => `${attempt}/${step}`)
  return `executed (attempt/super-step) ${executed.join(", ")}; saved ${saved.join(", ")}`
}

/** The run's attempt, the last `metadata` event and what nodes were told agree; ids and names of attempts do too. */
function wrongAttempts(run: RunFact, executions: readonly Execution[], log: readonly ReceivedEvent[]): Broken[] {
  const wrong: string[] = []
  const metadata = log.filter(({ event }) => event === "metadata")
  for (const { id, data } of metadata) {
    if (attemptOf(id) !== data.attempt || data.run_id !== run.runId)
      wrong.push(`event ${id} says ${JSON.stringify(data)}`)
  }
  const last = metadata.at(-1)?.data.attempt
  if (last !== run.attempt) wrong.push(`it has ${run.attempt} attempts, and its last metadata event says ${last}`)
  const told = Math.max(0, ...executions.map(({ attempt }) => attempt))
  if (told > run.attempt) wrong.push(`it has ${run.attempt} attempts, and a node was told ${told}`)
  return wrong.map((detail) => ({ promise: "attempt", detail: `${run.turn}: ${detail}` }))
}

/**
 * The contents of `steps`: each attempt is a piece of what the graph streams, without a gap, and begins where the ones
 * before it have not been past. A task whose writes were kept does not execute again: then only its update is told, which
 * LangGraph marks as cached in `__metadata__`.
 */
function wrongContents(
  conversation: Conversation,
  turn: number,
  events: readonly ReceivedEvent[],
  where: string,
): Broken[] {
  if (conversation.graph !== "steps") return []
  const wrong: string[] = []
  let toldSteps = 0
  const all = events.filter(isOutput)
  for (const attempt of new Set(all.map(({ id }) => attemptOf(id)))) {
    const output = all.filter(({ id }) => attemptOf(id) === attempt)
    const start = stepOf(output[0])
    if (start > toldSteps) wrong.push(`attempt ${attempt} begins at ${start}, and only ${toldSteps} were told before`)
    const skipped = output[0]?.event === "updates" ? conversation.tokens : 0
    const expected = fromStep(conversation, turn, start).slice(skipped, skipped + output.length)
    const told = output.map(({ event, data: { __metadata__: _, ...data } }) => [event, data])
    if (JSON.stringify(told) !== JSON.stringify(expected))
      wrong.push(`attempt ${attempt} tells ${JSON.stringify(told)}`)
    toldSteps = Math.max(toldSteps, start + output.filter(({ event }) => event === "updates").length)
  }
  if (toldSteps !== conversation.steps && !conversation.isCancelled)
    wrong.push(
      `${toldSteps} of ${conversation.steps} super-steps were told, in ${events.length} events; the last is ${JSON.stringify(events.at(-1))}`,
    )
  return wrong.map((detail) => ({ promise: "hole", detail: `${turnName(conversation, turn)}, ${where}: ${detail}` }))
}

const isOutput = ({ event }: ReceivedEvent): boolean => event === "custom" || event === "updates"

const stepOf = (event: ReceivedEvent | undefined): number =>
  event?.event === "updates" ? event.data.step.at - 1 : (event?.data.at ?? 0)

const fromStep = (conversation: Conversation, turn: number, start: number): [string, unknown][] =>
  Array.from({ length: conversation.steps - start }, (_, n) => eventsOf(conversation, turn, start + n)).flat()

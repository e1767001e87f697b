/** What is asked of a server in the tests, and what must have come of it in the end. Pure. */

export type GraphName = "steps" | "fan" | "ask" | "deadly"
export type Durability = "sync" | "async" | "exit"

/** One thread and what runs on it, one turn after the other. */
export interface Conversation {
  /** Unique: part of every message, so that none can be taken for another's. */
  readonly name: string
  readonly graph: GraphName
  readonly durability: Durability
  /** Runs asked for at once; the second waits for the first. Of `steps` only. */
  readonly turns: number
  /** Whether clients follow its runs' streams. */
  readonly isStreamed: boolean
  readonly steps: number
  readonly stepMs: number
  readonly tokens: number
  readonly branches: number
  /** A file without which the last super-step of `steps` does not end. */
  readonly gate?: string
  /** Whether each super-step of `steps` also writes into the store. */
  readonly notes?: boolean
  /** Whether its run is cancelled, by any server, when some of its stream has come. Of one streamed turn only. */
  readonly isCancelled?: boolean
  /** Whether others follow and join its run by other servers while it executes. Of one turn only. */
  readonly isJoined?: boolean
}

/** A conversation where only what matters is named: else ten super-steps of 40 ms, followed by a client. */
export const conversationOf = (fields: Partial<Conversation> & Pick<Conversation, "name">): Conversation => ({
  graph: "steps",
  durability: "sync",
  turns: 1,
  isStreamed: true,
  steps: 10,
  stepMs: 40,
  tokens: 2,
  branches: 3,
  ...fields,
})

export const answer = "yes"

/** The name of a turn's run. */
export const turnName = ({ name }: Pick<Conversation, "name">, turn: number): string => `${name}.${turn}`

/** The body that creates the run of a turn; the second turn of `ask` is the answer. */
export function bodyOf(conversation: Conversation, turn: number): Record<string, unknown> {
  const { graph, durability } = conversation
  const common = {
    assistant_id: graph,
    metadata: { turn: turnName(conversation, turn) },
    durability,
    stream_mode: ["custom", "updates"],
    stream_resumable: true,
  }
  if (graph === "ask" && turn === 1) return { ...common, command: { resume: answer } }
  const { steps, stepMs, tokens, branches, gate, notes } = conversation
  const name = turnName(conversation, turn)
  const task = { name, steps, stepMs, tokens, branches, ...(gate && { gate }), ...(notes && { notes }) }
  return { ...common, input: { task, at: 0, messages: [`${name}:in`] } }
}

/** The messages that a turn leaves in the state, in order. */
export function messagesOf(conversation: Conversation, turn: number): string[] {
  const { graph, steps, branches } = conversation
  // The answer goes on with what the question was asked for.
  const name = turnName(conversation, graph === "ask" ? 0 : turn)
  const said = (words: readonly (string | number)[]) => words.map((word) => `${name}:${word}`)
  if (graph === "steps") return said(["in", ...upTo(steps)])
  if (graph === "fan") return said(["in", "split", ...upTo(branches).map((branch) => `branch ${branch}`), "join"])
  return turn === 0 ? said(["in", "before"]) : said([answer, "after"])
}

/** How a turn's run ends. */
export const statusOf = ({ graph }: Conversation, turn: number): string =>
  graph === "ask" && turn === 0 ? "interrupted" : "success"

/** The stream of super-step `at` of `steps`, as `[event, data]`. */
export function eventsOf(conversation: Conversation, turn: number, at: number): [string, unknown][] {
  const name = turnName(conversation, turn)
  const tokens = upTo(conversation.tokens).map((token): [string, unknown] => ["custom", { at, token }])
  return [...tokens, ["updates", { step: { at: at + 1, count: 1, messages: [`${name}:${at}`] } }]]
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

/** The open interrupts of threads, as rows of one list; and answers, grouped into the runs that bring them. Pure. */
import { type Interrupt, type Question, questionOf, titleOf } from "./interrupt.js"

/** A thread as a search returns it. */
export interface InterruptedThread {
  readonly thread_id: string
  readonly updated_at: string
  readonly metadata: Readonly<Record<string, unknown>> | null | undefined
  readonly interrupts: Readonly<Record<string, readonly Interrupt[]>> | null | undefined
}

export interface WaitingInterrupt {
  /** Unique in a list. Another question has another key, also if the same task asks it: all its interrupts have one id. */
  readonly key: string
  readonly threadId: string
  readonly assistantId: string | undefined
  readonly graphId: string | undefined
  readonly interrupt: Interrupt
  readonly question: Question
  readonly title: string
  /** Since when the thread waits. */
  readonly since: string
}

export const waitingOf = (threads: readonly InterruptedThread[]): WaitingInterrupt[] =>
  threads.flatMap((thread) =>
    Object.entries(thread.interrupts ?? {}).flatMap(([task, interrupts]) =>
      interrupts.map((interrupt, n) => {
        const question = questionOf(interrupt)
        return {
          key: `${thread.thread_id}/${interrupt.id ?? `${task}/${n}`}/${digestOf(interrupt.value)}`,
          threadId: thread.thread_id,
          assistantId: textOf(thread.metadata?.assistant_id),
          graphId: textOf(thread.metadata?.graph_id),
          interrupt,
          question,
          title: titleOf(question),
          since: thread.updated_at,
        }
      }),
    ),
  )

/** Unique among the questions of a thread, if they have ids. The next question of a task has another key. */
export const questionKey = ({ id, value }: Interrupt): string => `${id}/${digestOf(value)}`

/** Tells values apart, in a few characters (FNV-1a). */
function digestOf(value: unknown): string {
  let hash = 0x811c9dc5
  for (const character of JSON.stringify(value) ?? "") hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193)
  return (hash >>> 0).toString(36)
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

export interface Answered {
  readonly waiting: WaitingInterrupt
  readonly answer: unknown
}

/** One run of a thread, and the answers that it brings by the ids of their interrupts. */
export interface AnsweringRun {
  readonly threadId: string
  /** Undefined if the thread does not say which assistant waits. */
  readonly assistantId: string | undefined
  readonly resume: unknown
  readonly questions: readonly Interrupt[]
}

/** A thread gets one run for all of its answers: the first run would leave the others open, and the second would find it busy. */
export function answeringRuns(answered: readonly Answered[]): AnsweringRun[] {
  const threadIds = [...new Set(answered.map(({ waiting }) => waiting.threadId))]
  return threadIds.map((threadId) => {
    const answers = answered.filter(({ waiting }) => waiting.threadId === threadId)
    const [first] = answers
    const assistantId = first?.waiting.assistantId ?? first?.waiting.graphId
    const questions = answers.map(({ waiting }) => waiting.interrupt)
    // Interrupts of old libraries have no id: then the thread has one question, and the answer goes to it.
    const resume = questions.some(({ id }) => id === undefined)
      ? first?.answer
      : Object.fromEntries(answers.map(({ waiting, answer }) => [waiting.interrupt.id, answer]))
    return { threadId, assistantId, resume, questions }
  })
}

/**
 * Questions of a thread and what was answered to them. The server keeps both with the thread (`GET /threads/{id}/answers`), since a
 * checkpoint loses its question when it is answered; by the ids of their tasks they stand at the checkpoints. Pure.
 */
import { type Interrupt, isSame } from "../approvals/interrupt.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import type { Checkpoints } from "./branches.js"

/** An answer, as the API lists it. */
export interface GivenAnswer {
  readonly run_id: string
  /** The questions that were open, by the ids of their tasks. */
  readonly interrupts: Readonly<Record<string, readonly Interrupt[]>>
  /** One answer, or answers by the ids of interrupts. */
  readonly resume: unknown
  readonly answered_at: string
  readonly user_id: string | null
  /** Who answered in the console, with an account; an agent server of an earlier release does not say. */
  readonly person?: { readonly name: string } | null
  /** How the run ended; `running` for one that has not. */
  readonly status: string
}

export interface Answer {
  readonly value: unknown
  readonly at: string
  readonly by: string | undefined
  readonly runId: string
  /** The graph did not accept it: the run failed where the question was asked. */
  readonly failed: boolean
}

export interface Exchange {
  readonly key: string
  /** The checkpoint at which the graph waited. */
  readonly checkpointId: string
  readonly interrupt: Interrupt
  /** undefined: there was none, or the question is open. */
  readonly answer: Answer | undefined
  readonly isOpen: boolean
}

type Task = NonNullable<TreeItem["item"]["tasks"]>[number]

/**
 * @param line     the checkpoints that the conversation follows, the newest first
 * @param answers  those of the thread, in any order
 * @returns  the oldest first
 */
export function exchangesOf(
  items: Checkpoints,
  line: readonly TreeItem[],
  answers: readonly GivenAnswer[],
): Exchange[] {
  const shown = new Set(line.map(runOf))
  const wrote = new Set([...items.values()].map(runOf))
  const oldestFirst = [...answers].sort((a, b) => (a.run_id < b.run_id ? -1 : 1))
  return [...line].reverse().flatMap((item, n) =>
    (item.item.tasks ?? []).flatMap((task) => {
      const given = oldestFirst.filter(({ interrupts }) => (task.id ?? "") in interrupts)
      // A run that wrote checkpoints, but none of this line, has answered on another branch.
      const here = given.filter(({ run_id }) => shown.has(run_id) || !wrote.has(run_id))
      const answered = here.flatMap((answer) => exchangesIn(answer, item.id, task))
      if (here.some(({ status }) => status === "running")) return answered
      const isTip = n === line.length - 1
      return [...answered, ...withoutAnswer(item.id, task, { given, answered, isTip })]
    }),
  )
}

interface Around {
  /** The answers to the task's questions on all branches, the oldest first. */
  readonly given: readonly GivenAnswer[]
  /** Those on this one. */
  readonly answered: readonly Exchange[]
  /** Whether the line has no later checkpoint. */
  readonly isTip: boolean
}

function withoutAnswer(checkpointId: string, task: Task, { given, answered, isTip }: Around): Exchange[] {
  const kept = (task.interrupts ?? []) as readonly Interrupt[]
  // LangGraph for JavaScript drops a question that was answered, on whichever branch: then the answer still says what was asked.
  const asked = kept.length > 0 || answered.length > 0 ? kept : questionsIn(given[0], task)
  // In Python it keeps it. A task that has no result yet may ask the same again.
  const isOver = !isTip || hasResult(task)
  const wasAnswered = (question: Interrupt) =>
    isOver && answered.some(({ interrupt, answer }) => !answer?.failed && isSame(interrupt, question))
  return asked
    .filter((question) => !wasAnswered(question))
    .map((interrupt) => ({
      key: `${task.id}/${interrupt.id}`,
      checkpointId,
      interrupt,
      answer: undefined,
      isOpen: isTip,
    }))
}

function exchangesIn(given: GivenAnswer, checkpointId: string, task: Task): Exchange[] {
  return questionsIn(given, task).flatMap((interrupt) =>
    answersIn(given, interrupt).map((value) => ({
      key: `${task.id}/${given.run_id}/${interrupt.id}`,
      checkpointId,
      interrupt,
      answer: answerOf(given, value),
      isOpen: false,
    })),
  )
}

const questionsIn = (given: GivenAnswer | undefined, { id = "" }: Task): readonly Interrupt[] =>
  given?.interrupts[id] ?? []

const answerOf = ({ run_id, answered_at, user_id, person, status }: GivenAnswer, value: unknown): Answer => ({
  value,
  at: answered_at,
  by: person?.name ?? user_id ?? undefined,
  runId: run_id,
  failed: status === "error" || status === "timeout",
})

/** @returns the answer to a question, in a list; an empty one if the run has none to it */
function answersIn({ resume, interrupts }: GivenAnswer, { id }: Interrupt): unknown[] {
  if (isObject(resume) && id !== undefined && id in resume) return [resume[id]]
  const isOnly = Object.values(interrupts).flat().length === 1
  return isById(resume) || !isOnly ? [] : [resume]
}

/** LangGraph's ids of interrupts: 32 hexadecimal digits. */
const isById = (resume: unknown): boolean =>
  isObject(resume) && Object.keys(resume).length > 0 && Object.keys(resume).every((key) => /^[0-9a-f]{32}$/.test(key))

const hasResult = ({ result }: Task): boolean => result !== undefined && result !== null

const runOf = ({ item }: TreeItem): string | undefined => {
  const id = item.metadata?.run_id
  return typeof id === "string" ? id : undefined
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

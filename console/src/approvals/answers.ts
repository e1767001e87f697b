/** Sends answers: as runs that resume their threads, by the ids of the interrupts. */
import type { Client } from "@langchain/langgraph-sdk/client"
import { type Interrupt, isSame } from "./interrupt.js"
import { type Answered, type AnsweringRun, answeringRuns, type InterruptedThread } from "./waiting.js"

/** An answer names its question only by an id that later questions of the same task share. */
export class QuestionChanged extends Error {
  constructor(asksAnother: boolean) {
    const now = asksAnother ? "It asks something else now" : "It waits for no answer now"
    super(`${now}, so the answer was not sent.`)
  }
}

/** @throws QuestionChanged  the thread has been answered since a person saw these questions */
export async function checkAsked(client: Client, threadId: string, seen: readonly Interrupt[]): Promise<void> {
  const { interrupts } = (await client.threads.get(threadId)) as unknown as InterruptedThread
  const asked = Object.values(interrupts ?? {}).flat()
  if (!seen.every((one) => asked.some((other) => isSame(one, other)))) throw new QuestionChanged(asked.length > 0)
}

export interface SentAnswer {
  readonly threadId: string
  /** Undefined if the answer was refused. */
  readonly runId: string | undefined
  readonly error: unknown
}

/** Sends all answers. One that is refused does not keep the others from being sent. */
export async function sendAnswers(client: Client, answered: readonly Answered[]): Promise<SentAnswer[]> {
  return Promise.all(
    answeringRuns(answered).map(async (run) => {
      try {
        return { threadId: run.threadId, runId: await send(client, run), error: undefined }
      } catch (error) {
        return { threadId: run.threadId, runId: undefined, error }
      }
    }),
  )
}

async function send(client: Client, { threadId, assistantId, resume, questions }: AnsweringRun): Promise<string> {
  if (assistantId === undefined) throw new Error(`The thread ${threadId} does not say which assistant waits.`)
  await checkAsked(client, threadId, questions)
  const { run_id } = await client.runs.create(threadId, assistantId, {
    command: { resume },
    // A thread that was answered since then is busy, and refuses the run.
    multitaskStrategy: "reject",
    streamResumable: true,
    streamMode: ["updates", "tasks", "messages-tuple"],
  })
  return run_id
}

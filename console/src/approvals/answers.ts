/** Sends answers: as runs that resume their threads, by the ids of the interrupts. */
import type { Client } from "@langchain/langgraph-sdk/client"
import { type Answered, type AnsweringRun, answeringRuns } from "./waiting.js"

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

async function send(client: Client, { threadId, assistantId, resume }: AnsweringRun): Promise<string> {
  if (assistantId === undefined) throw new Error(`The thread ${threadId} does not say which assistant waits.`)
  const { run_id } = await client.runs.create(threadId, assistantId, {
    command: { resume },
    // A thread that somebody else has answered is busy, and refuses the run.
    multitaskStrategy: "reject",
    streamResumable: true,
    streamMode: ["updates", "tasks", "messages-tuple"],
  })
  return run_id
}

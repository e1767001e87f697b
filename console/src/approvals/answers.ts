/** Sends answers: as runs that resume their threads, by the ids of the interrupts. */
import type { Client } from "@langchain/langgraph-sdk/client"
import { type Answered, type AnsweringRun, answeringRuns } from "./waiting.js"

export interface SentAnswer {
  readonly threadId: string
  /** Undefined if the answer was refused. */
  readonly runId: string | undefined
  readonly error: unknown
}

/** The body of the run that brings the answers. A thread that somebody else has answered is busy, and refuses it. */
export const bodyOf = ({ assistantId, resume }: AnsweringRun) => ({
  assistant_id: assistantId,
  command: { resume },
  multitask_strategy: "reject" as const,
  stream_resumable: true,
  stream_mode: ["updates", "tasks", "messages-tuple"] as const,
})

/** Sends all answers. One that is refused does not keep the others from being sent. */
export async function sendAnswers(client: Client, answered: readonly Answered[]): Promise<SentAnswer[]> {
  return Promise.all(
    answeringRuns(answered).map(async (run) => {
      const { threadId, assistantId, resume } = run
      const { multitask_strategy: multitaskStrategy, stream_resumable: streamResumable, stream_mode } = bodyOf(run)
      try {
        const created = await client.runs.create(threadId, assistantId, {
          command: { resume },
          multitaskStrategy,
          streamResumable,
          streamMode: [...stream_mode],
        })
        return { threadId, runId: created.run_id, error: undefined }
      } catch (error) {
        return { threadId, runId: undefined, error }
      }
    }),
  )
}

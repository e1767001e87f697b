/** What a person sends to a thread: a message or an input, an answer, the wish to stop. */
import type { Thread } from "@langchain/langgraph-sdk"
import { useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import type { Conversation } from "./thread-stream.js"

export interface Sending {
  /** Whether something was sent, and no run that came of it is known yet. */
  readonly isSending: boolean
  /** Starts a run. @throws  nothing was started */
  readonly start: (input: unknown) => Promise<void>
  readonly answer: (interruptId: string, answer: unknown) => Promise<void>
  readonly stop: () => Promise<void>
}

/** By the protocol, an input for an interrupted thread is the answer to its question: a message must never become one. */
export class QuestionIsOpen extends Error {
  constructor() {
    super("The thread waits for an answer, so it takes no message.")
  }
}

export const answerFirst = "Answer the question above first."

const hasQuestion = ({ interrupts }: Thread): boolean =>
  Object.values(interrupts ?? {}).some((each) => (each?.length ?? 0) > 0)

/** @param runId  the newest run of the thread, as far as the page knows */
export function useSending(threadId: string, runId: string | undefined, conversation: Conversation): Sending {
  const { client } = useAgent()
  const [before, setBefore] = useState<{ readonly runId: string | undefined }>()
  const during = async (work: () => Promise<void>) => {
    setBefore({ runId })
    await work().catch((error: unknown) => {
      setBefore(undefined)
      throw error
    })
  }
  const start = async (input: unknown) => {
    // What the page shows of the thread may be some seconds old.
    if (hasQuestion(await client.threads.get(threadId))) throw new QuestionIsOpen()
    let problem: unknown
    const onError = (error: unknown) => {
      problem = error
    }
    await conversation.submit(input as never, { onError })
    // The hook reports a run that failed and a request that was refused in the same way: only the second has left no run.
    if (problem === undefined) return
    const [newest] = await client.runs.list(threadId, { limit: 1 })
    if (newest?.run_id === runId) throw problem
  }
  return {
    isSending: before !== undefined && before.runId === runId,
    start: (input) => during(() => start(input)),
    answer: (interruptId, answer) => during(() => conversation.respond(answer, { interruptId })),
    stop: async () => {
      setBefore(undefined)
      // The hook cancels only a run that this page has started, and shows no error of it.
      if (runId !== undefined) await client.runs.cancel(threadId, runId)
      await conversation.stop({ cancel: false })
    },
  }
}

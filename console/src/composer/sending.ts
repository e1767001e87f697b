/** What a person sends to a thread: a message or an input, an answer, the wish to go on or to stop. */
import type { Thread } from "@langchain/langgraph-sdk"
import { useRef, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { checkAsked } from "../approvals/answers.js"
import type { Interrupt } from "../approvals/interrupt.js"
import type { RawMessage } from "../messages/messages.js"
import { editCheckpoint, type StateEdit } from "../time-travel/edit-checkpoint.js"
import { type RunOptions, requestOf } from "./run-options.js"

export interface Sent {
  readonly messages: readonly RawMessage[]
  /** The checkpoint that the run starts at; undefined for the present state. */
  readonly from: string | undefined
}

/** What the page shows of it until the run has written a checkpoint. */
interface SentBefore extends Sent {
  /** The newest checkpoint when it was sent. */
  readonly head: string | undefined
}

export interface Sending {
  /** Whether something was sent, and no run that came of it is known yet. */
  readonly isSending: boolean
  /** What of it the page shows: a message or an input at once, a run from a checkpoint when the server has accepted it; of an answer nothing. */
  readonly sent: SentBefore | undefined
  /** Why the last answer was refused, or the last wish to go on at the present state. Other refusals are shown where they were sent. */
  readonly refused: unknown
  /**
   * Starts a run.
   * @param sent  the messages of the input. What came after the checkpoint that it starts at stays a branch
   * @throws  nothing was started
   */
  readonly start: (input: unknown, sent: Sent) => Promise<void>
  /** @throws QuestionChanged  the thread asks something else now */
  readonly answer: (question: Interrupt, answer: unknown) => Promise<void>
  /** Goes on where the graph has stopped, or at a checkpoint, with another state if one is given. */
  readonly goOn: (from?: string, edit?: StateEdit) => Promise<void>
  readonly stop: () => Promise<void>
}

/** A run with an input drops the question of its thread: a message must never do so by mistake. */
export class QuestionIsOpen extends Error {
  constructor() {
    super("The thread waits for an answer, so it takes no message.")
  }
}

export const answerFirst = "Answer the question above first."

const hasQuestion = ({ interrupts }: Thread): boolean =>
  Object.values(interrupts ?? {}).some((each) => (each?.length ?? 0) > 0)

interface Given {
  readonly threadId: string
  readonly assistantId: string
  /** The newest run of the thread, as far as the page knows. */
  readonly runId: string | undefined
  /** The newest checkpoint. */
  readonly head: string | undefined
  readonly options: RunOptions
  /** The hook that streams the thread. */
  readonly conversation: { readonly stop: (options: { readonly cancel: boolean }) => Promise<void> }
  /** A run was created: the page must follow it. */
  readonly onStarted: () => void
}

/** Runs are created by the REST routes: the hook's own command takes neither breakpoints nor a context (@langchain/react 1.1). */
export function useSending(given: Given): Sending {
  const { threadId, assistantId, runId, head, options, conversation, onStarted } = given
  const { client } = useAgent()
  const [before, setBefore] = useState<{ readonly runId: string | undefined; readonly sent: SentBefore | undefined }>()
  const isSending = before !== undefined && before.runId === runId
  const [refused, setRefused] = useState<unknown>()
  /** The id of the run that was created last. */
  const created = useRef<Promise<string>>(undefined)
  const during = async (sent: Sent | undefined, work: () => Promise<string>) => {
    const shown = sent && { ...sent, head }
    setRefused(undefined)
    // What comes after the checkpoint stays until then: a message that is sent again is edited there, and may be refused.
    setBefore({ runId, sent: sent?.from === undefined ? shown : undefined })
    created.current = work()
    await created.current.catch((error: unknown) => {
      setBefore(undefined)
      if (sent === undefined) setRefused(error)
      throw error
    })
    setBefore((now) => now && { ...now, sent: shown })
    onStarted()
  }
  const create = async (request: object) => {
    const run = await client.runs.create(threadId, assistantId, {
      ...requestOf(options),
      streamResumable: true,
      streamMode: ["updates", "tasks", "messages-tuple"],
      ...request,
    })
    return run.run_id
  }
  return {
    isSending,
    sent: before?.sent,
    refused,
    start: (input, sent) =>
      during(sent, async () => {
        const { from } = sent
        // What the page shows of the thread may be some seconds old.
        if (from === undefined && hasQuestion(await client.threads.get(threadId))) throw new QuestionIsOpen()
        return create({ input, ...(from !== undefined && { checkpointId: from }) })
      }),
    answer: (question, answer) =>
      during(undefined, async () => {
        await checkAsked(client, threadId, [question])
        const resume = question.id === undefined ? answer : { [question.id]: answer }
        // A thread that was answered since then is busy, and refuses the run.
        return create({ command: { resume }, multitaskStrategy: "reject" })
      }),
    goOn: (from, edit) =>
      during(from === undefined ? undefined : { messages: [], from }, async () => {
        const checkpointId = from === undefined ? undefined : await editCheckpoint(client, threadId, from, edit)
        return create({ input: null, multitaskStrategy: "reject", ...(checkpointId !== undefined && { checkpointId }) })
      }),
    stop: async () => {
      // Of what was just sent, the newest run that the page knows is the one before. Without a run, whoever sent it shows why.
      const stopped = isSending ? await created.current?.catch(() => undefined) : runId
      setBefore(undefined)
      // The hook cancels only a run that it has started, and shows no error of it.
      if (stopped !== undefined) await client.runs.cancel(threadId, stopped)
      await conversation.stop({ cancel: false })
    },
  }
}

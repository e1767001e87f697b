/** All that the page of a thread shows, from the server, the stream and the address, and what can be done with it. */

import type { Thread } from "@langchain/langgraph-sdk"
import { useQueryClient } from "@tanstack/react-query"
import { useCallback, useEffect, useMemo, useRef } from "react"
import { useAgent } from "../agent/use-agent.js"
import { useSchemas } from "../assistants/agent-graph.js"
import { chatKeyOf } from "../composer/input-kind.js"
import { useRunOptions } from "../composer/run-options.js"
import { useSending } from "../composer/sending.js"
import { useSearchState } from "../frame/search.js"
import type { RawMessage } from "../messages/messages.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import { useHistory, useHistoryChanged, useHistoryGrows } from "../time-travel/history.js"
import { useAnnotations } from "./annotations.js"
import { placeIn } from "./place.js"
import { failureOf, isUnderWay, type LastRun, shownRunId, statusAtRest, type ThreadFacts } from "./run-facts.js"
import { useThreadAnswers } from "./thread-answers.js"
import { useActivity, useConversation, useSettled } from "./thread-stream.js"
import { unseen, useEpoch, useStartAgain } from "./unseen.js"
import { useWholeMessages } from "./whole-messages.js"

export interface ThreadGiven {
  readonly thread: Thread
  readonly lastRun: LastRun | undefined
  readonly assistantId: string
}

// Checkpoints of quick steps come together: the history is read once for all of them.
const settleMs = 400

export function useShownThread({ thread, lastRun, assistantId }: ThreadGiven) {
  const { url } = useAgent()
  const threadId = thread.thread_id
  const { history, historyGrows, items, head, present, past, show, changed } = usePlace(threadId)
  const { data: schemas, isPending: isSchemaPending, error: schemasError } = useSchemas(assistantId)
  const chatKey = chatKeyOf(schemas?.input_schema)
  const messagesKey = chatKey ?? "messages"
  const saved = valuesOf(present)[messagesKey]
  const { epoch, startAgain } = useEpoch()
  const { conversation, tracker } = useConversation({ threadId, assistantId, messagesKey, epoch })
  const streamed = conversation.messages as unknown as readonly RawMessage[]
  const messages = useWholeMessages(streamed, tracker, saved)
  const readAgain = () => {
    startAgain()
    changed()
  }
  const onCheckpoint = useSettled(historyGrows, settleMs)
  const { activity, error } = useActivity({ threadId, assistantId, onCheckpoint, onBack: readAgain })
  const facts: ThreadFacts = { threadStatus: thread.status, lastRun }
  const runId = shownRunId(facts, activity)
  const runOptions = useRunOptions(`${url}/${threadId}`)
  const onStarted = () => {
    show(undefined)
    readAgain()
  }
  const { options } = runOptions
  const sending = useSending({ threadId, assistantId, runId, head, options, conversation, onStarted })
  const isBusy = isUnderWay(facts, activity)
  const isRunning = isBusy || sending.isSending
  useEndOfRun(isRunning, changed)
  const failure = isBusy ? undefined : failureOf(facts, activity)
  const asks = !isBusy && (present ? waits(present) : thread.status === "interrupted")
  const isFollowed = conversation.isLoading || conversation.isThreadLoading
  useStartAgain(isFollowed ? undefined : unseen(activity, streamed, { head, saved }), startAgain)
  const isStopped = !isBusy && !asks && failure === undefined && thread.status === "interrupted"
  const stoppedAt = (isStopped && present?.item.next) || nowhere
  const openRun = isRunning ? lastRun : undefined
  const version = [runId, thread.status, isRunning].join()
  const { answers, error: answersError } = useThreadAnswers({ threadId, openRun, present, version })
  const hidesOpen = past === undefined
  const annotations = useAnnotations({ threadId, answers, items, tip: past ?? present, messagesKey, hidesOpen })
  const status = isRunning ? "busy" : statusAtRest(facts, failure !== undefined, asks)
  const inputSchema = schemas?.input_schema ?? undefined
  return {
    ...{ history, items, present, past, show, conversation, messages, chatKey, isSchemaPending, activity, runId },
    ...{ runOptions, sending, isBusy, isRunning, failure, asks, stoppedAt, annotations, status, inputSchema },
    contextSchema: schemas?.context_schema,
    /** Why the stream, the answers and the schemas are not known if they are not. */
    problems: { stream: error, answers: answersError, schemas: schemasError },
  }
}

/** The checkpoints of the thread, and the one that the address names. */
function usePlace(threadId: string) {
  const [{ checkpoint }, change] = useSearchState(placeIn)
  const history = useHistory(threadId)
  const historyChanged = useHistoryChanged(threadId)
  const historyGrows = useHistoryGrows(threadId)
  const queryClient = useQueryClient()
  const { url } = useAgent()
  /** Reads the thread, its newest run and its checkpoints again. */
  const changed = useCallback(() => {
    void historyChanged()
    void queryClient.invalidateQueries({ queryKey: ["thread", url, threadId] })
  }, [historyChanged, queryClient, url, threadId])
  const { items: newestFirst, head } = history.tree
  const items = useMemo(() => new Map(newestFirst.map((each) => [each.id, each])), [newestFirst])
  const past = checkpoint === undefined || checkpoint === head ? undefined : items.get(checkpoint)
  /** @param id  undefined for the present state */
  const show = (id: string | undefined) => change({ checkpoint: id })
  return { history, historyGrows, items, head, present: newestFirst[0], past, show, changed }
}

const valuesOf = (item: TreeItem | undefined): Readonly<Record<string, unknown>> =>
  (item?.item.values ?? {}) as Readonly<Record<string, unknown>>

const waits = ({ item }: { item: { tasks?: readonly { interrupts?: readonly unknown[] }[] } }): boolean =>
  item.tasks?.some(({ interrupts }) => (interrupts?.length ?? 0) > 0) ?? false

const nowhere: readonly string[] = []

/** What a run has changed is read when it has ended. */
function useEndOfRun(isRunning: boolean, changed: () => void): void {
  const wasRunning = useRef(false)
  useEffect(() => {
    if (wasRunning.current && !isRunning) changed()
    wasRunning.current = isRunning
  }, [isRunning, changed])
}

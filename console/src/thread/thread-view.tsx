/** A thread with its assistant: the conversation on the left, the graph and the past on the right. */

import type { Thread } from "@langchain/langgraph-sdk"
import { useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { agentRequest } from "../agent/agent-request.js"
import { useAgent } from "../agent/use-agent.js"
import { useSchemas } from "../assistants/agent-graph.js"
import { CurlButton } from "../frame/curl-button.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { requestPath } from "../frame/request-path.js"
import { useSearchState } from "../frame/search.js"
import type { RawMessage } from "../messages/messages.js"
import { namesIn } from "../time-travel/branch-names.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import { useHistory, useHistoryChanged, useHistoryGrows } from "../time-travel/history.js"
import { historyPath } from "../time-travel/history-request.js"
import { TimeTravel } from "../time-travel/time-travel.js"
import { Chat } from "./chat.js"
import { chatKeyOf } from "./input-kind.js"
import { placeIn, titleOf } from "./place.js"
import { failureOf, isUnderWay, type LastRun, shownRunId, statusAtRest, type ThreadFacts } from "./run-facts.js"
import { useRunOptions } from "./run-options.js"
import { useSending } from "./sending.js"
import { StatusBadge } from "./status-badge.js"
import { useTalk } from "./talk.js"
import { useThreadAnswers } from "./thread-answers.js"
import { ThreadGraph } from "./thread-graph.js"
import { useActivity, useConversation, useSettled } from "./thread-stream.js"
import { unseen, useEpoch, useStartAgain } from "./unseen.js"
import { useWholeMessages } from "./whole-messages.js"

interface Props {
  readonly thread: Thread
  readonly lastRun: LastRun | undefined
  readonly assistantId: string
}

// Checkpoints of quick steps come together: the history is read once for all of them.
const settleMs = 400

const views = ["Conversation", "Graph", "Time travel"] as const

export function ThreadView({ thread, lastRun, assistantId }: Props) {
  const agent = useAgent()
  const { base, url } = agent
  const threadId = thread.thread_id
  const [{ checkpoint }, change] = useSearchState(placeIn)
  const [view, setView] = useState<(typeof views)[number]>("Conversation")
  const history = useHistory(threadId)
  const historyChanged = useHistoryChanged(threadId)
  const historyGrows = useHistoryGrows(threadId)
  const threadChanged = useThreadChanged(threadId)
  const { data: schemas, isPending: isSchemaPending } = useSchemas(assistantId)
  const chatKey = chatKeyOf(schemas?.input_schema)
  const { items, head } = history.tree
  const past = checkpoint === undefined || checkpoint === head ? undefined : items.find(({ id }) => id === checkpoint)
  const present = items[0]
  const byId = useMemo(() => new Map(items.map((each) => [each.id, each])), [items])
  const messagesKey = chatKey ?? "messages"
  const saved = valuesOf(present)[messagesKey]
  const { epoch, startAgain } = useEpoch()
  const { conversation, tracker } = useConversation({ threadId, assistantId, messagesKey, epoch })
  const messages = conversation.messages as unknown as readonly RawMessage[]
  const whole = useWholeMessages(messages, tracker, saved)
  const { activity, error } = useActivity({ threadId, assistantId, onCheckpoint: useSettled(historyGrows, settleMs) })
  const facts: ThreadFacts = { threadStatus: thread.status, lastRun }
  const runId = shownRunId(facts, activity)
  const runOptions = useRunOptions(`${url}/${threadId}`)
  const onStarted = async () => {
    change({ checkpoint: undefined })
    startAgain()
    await Promise.all([historyChanged(), threadChanged()])
  }
  const { options } = runOptions
  const sending = useSending({ threadId, assistantId, runId, head, options, conversation, onStarted })
  const isRunning = isUnderWay(facts, activity, sending.isSending)
  useEndOfRun(isRunning, historyChanged, threadChanged)
  const failure = isRunning ? undefined : failureOf(facts, activity)
  const asks = !isRunning && (present ? waits(present) : thread.status === "interrupted")
  const isFollowed = conversation.isLoading || conversation.isThreadLoading
  useStartAgain(isFollowed ? undefined : unseen(activity, messages, { head, saved }), startAgain)
  const isStopped = !isRunning && !asks && failure === undefined && thread.status === "interrupted"
  const stoppedAt = (isStopped && present?.item.next) || nowhere
  const version = [runId, thread.status, isRunning].join()
  const { answers, error: answersError } = useThreadAnswers({
    threadId,
    openRun: isRunning ? lastRun : undefined,
    present,
    version,
  })
  const hidesOpen = past === undefined
  const talk = useTalk({ threadId, answers, items: byId, tip: past ?? present, messagesKey, hidesOpen })
  const names = useMemo(() => namesIn(thread.metadata), [thread.metadata])
  const status = isRunning ? "busy" : statusAtRest(facts, failure !== undefined, asks)
  const paths = [requestPath`/threads/${threadId}`, requestPath`/threads/${threadId}/state`, historyPath(threadId)]
  return (
    <Page
      title={titleOf(threadId)}
      isWide
      above={<Link to={`${base}/threads`}>Threads</Link>}
      actions={
        <>
          <StatusBadge status={status} />
          {runId && <Link to={`${base}/threads/${threadId}/runs/${runId}`}>Last run</Link>}
          {runId && (
            <Link to={`${base}/runs`} search={{ thread: threadId } as never}>
              All runs
            </Link>
          )}
          <CurlButton requests={paths.map((path) => agentRequest(agent, "GET", path))} />
        </>
      }
    >
      {error !== undefined && <Problem error={error} next="Load this page again to see what its runs do." />}
      {answersError && <Problem error={answersError} next="The answers to earlier questions are not shown." />}
      <fieldset className="thread-views" aria-label="What to show">
        {views.map((each) => (
          <button key={each} type="button" aria-pressed={each === view} onClick={() => setView(each)}>
            {each}
          </button>
        ))}
      </fieldset>
      <div className="thread" data-view={view}>
        <Chat
          conversation={conversation}
          messages={whole}
          chatKey={chatKey}
          inputSchema={schemas?.input_schema ?? undefined}
          contextSchema={schemas?.context_schema}
          isSchemaPending={isSchemaPending}
          activity={activity}
          isRunning={isRunning}
          failure={failure}
          asks={asks}
          sending={sending}
          isHistoryPending={history.isPending}
          items={byId}
          present={present}
          past={past}
          talk={talk}
          stoppedAt={stoppedAt}
          runOptions={runOptions}
          onShow={(id) => change({ checkpoint: id })}
          onBackToNow={() => change({ checkpoint: undefined })}
        />
        <div className="thread-side">
          <ThreadGraph
            threadId={threadId}
            assistantId={assistantId}
            activity={activity}
            ending={isRunning ? "running" : failure === undefined ? undefined : "failed"}
            items={byId}
            present={present}
            past={past}
            stoppedAt={stoppedAt}
            runOptions={agent.mayRun ? runOptions : undefined}
          />
          <TimeTravel
            threadId={threadId}
            assistantId={assistantId}
            history={history}
            names={names}
            selected={past ?? present}
            isRunning={isRunning}
            onSelect={(id) => change({ checkpoint: id })}
            onGoOn={sending.goOn}
          />
        </div>
      </div>
    </Page>
  )
}

const valuesOf = (item: TreeItem | undefined): Readonly<Record<string, unknown>> =>
  (item?.item.values ?? {}) as Readonly<Record<string, unknown>>

const waits = ({ item }: { item: { tasks?: readonly { interrupts?: readonly unknown[] }[] } }): boolean =>
  item.tasks?.some(({ interrupts }) => (interrupts?.length ?? 0) > 0) ?? false

const nowhere: readonly string[] = []

/** What a run has changed is read when it has ended. */
function useEndOfRun(
  isRunning: boolean,
  historyChanged: () => Promise<void>,
  threadChanged: () => Promise<void>,
): void {
  const wasRunning = useRef(false)
  useEffect(() => {
    if (wasRunning.current && !isRunning) {
      void historyChanged()
      void threadChanged()
    }
    wasRunning.current = isRunning
  }, [isRunning, historyChanged, threadChanged])
}

/** Reads the thread and its newest run again. */
function useThreadChanged(threadId: string): () => Promise<void> {
  const queryClient = useQueryClient()
  const { url } = useAgent()
  return useCallback(
    () => queryClient.invalidateQueries({ queryKey: ["thread", url, threadId] }),
    [queryClient, url, threadId],
  )
}

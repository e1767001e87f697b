/** A thread with its assistant: the conversation on the left, the graph and the past on the right. */
import { Link } from "@tanstack/react-router"
import { useMemo, useState } from "react"
import { agentRequest } from "../agent/agent-request.js"
import { useAgent } from "../agent/use-agent.js"
import { CurlButton } from "../frame/curl-button.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { requestPath } from "../requests/request-path.js"
import { namesIn } from "../time-travel/branch-names.js"
import { historyPath } from "../time-travel/history-request.js"
import { TimeTravel } from "../time-travel/time-travel.js"
import { Chat } from "./chat.js"
import { titleOf } from "./place.js"
import { type ThreadGiven, useShownThread } from "./shown-thread.js"
import { StatusBadge } from "./status-badge.js"
import { ThreadGraph } from "./thread-graph.js"
import { reopenMs } from "./thread-stream.js"

const views = ["Conversation", "Graph", "Time travel"] as const

export function ThreadView(given: ThreadGiven) {
  const agent = useAgent()
  const { base } = agent
  const { thread, assistantId } = given
  const threadId = thread.thread_id
  const [view, setView] = useState<(typeof views)[number]>("Conversation")
  const { history, show, problems, ...shown } = useShownThread(given)
  const { runId, status, isRunning, failure, present, past, runOptions } = shown
  const names = useMemo(() => namesIn(thread.metadata), [thread.metadata])
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
      {problems.stream !== undefined && (
        <Problem
          error={problems.stream}
          next={`It is tried again every ${reopenMs / 1000} s. Until then you see what a run did when it has ended.`}
        />
      )}
      {problems.answers && <Problem error={problems.answers} next="The answers to earlier questions are not shown." />}
      {problems.schemas && <Problem error={problems.schemas} next="The graph's input is edited as JSON." />}
      <fieldset className="thread-views" aria-label="What to show">
        {views.map((each) => (
          <button key={each} type="button" aria-pressed={each === view} onClick={() => setView(each)}>
            {each}
          </button>
        ))}
      </fieldset>
      <div className="thread" data-view={view}>
        <Chat {...shown} threadId={threadId} isHistoryPending={history.isPending} onShow={show} />
        <div className="thread-side">
          <ThreadGraph
            {...shown}
            threadId={threadId}
            assistantId={assistantId}
            ending={isRunning ? "running" : failure === undefined ? undefined : "failed"}
            runOptions={agent.mayApprove ? runOptions : undefined}
          />
          <TimeTravel
            threadId={threadId}
            assistantId={assistantId}
            history={history}
            names={names}
            selected={past ?? present}
            isRunning={isRunning}
            onSelect={show}
            onGoOn={shown.sending.goOn}
          />
        </div>
      </div>
    </Page>
  )
}

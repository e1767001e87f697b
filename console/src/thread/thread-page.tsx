/** One thread: its conversation, its graph, its past. */
import { useQuery, useSuspenseQuery } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { useAgent } from "../agent/use-agent.js"
import { useAssistants } from "../assistants/agent-graph.js"
import { Empty } from "../frame/empty.js"
import { Page } from "../frame/page.js"
import { refreshMs } from "../requests/query-client.js"
import { titleOf } from "./place.js"
import type { LastRun } from "./run-facts.js"
import { ThreadView } from "./thread-view.js"

export function ThreadPage() {
  const { threadId = "" } = useParams({ strict: false }) as { threadId?: string }
  return <OneThread key={threadId} threadId={threadId} />
}

function OneThread({ threadId }: { threadId: string }) {
  const { client, url, base } = useAgent()
  const queryKey = ["thread", url, threadId]
  const queryFn = async () => {
    const [thread, [lastRun]] = await Promise.all([
      client.threads.get(threadId),
      client.runs.list(threadId, { limit: 1 }),
    ])
    return { thread, lastRun: lastRun as LastRun | undefined }
  }
  const { data: first } = useSuspenseQuery({ queryKey, queryFn })
  // Another page may change the thread: its status and names are read again.
  const { data: { thread, lastRun } = first } = useQuery({ queryKey, queryFn, refetchInterval: refreshMs })
  const { assistants, isPending } = useAssistants()
  const metadata = (thread.metadata ?? {}) as Readonly<Record<string, unknown>>
  const assistantId = [metadata.assistant_id, metadata.graph_id].find((id) => typeof id === "string" && id !== "")
  const usable = assistantId ?? assistants[0]?.assistant_id
  if (usable === undefined)
    return (
      <Page title={titleOf(threadId)} above={<Link to={`${base}/threads`}>Threads</Link>}>
        {!isPending && (
          <Empty title="The agent has no graph">No graph of this agent loads, so its threads cannot be shown.</Empty>
        )}
      </Page>
    )
  return <ThreadView thread={thread} lastRun={lastRun} assistantId={String(usable)} />
}

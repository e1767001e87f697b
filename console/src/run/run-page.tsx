/** One run: what it waited for, its attempts, super-steps, nodes and model calls, its first error, and its raw events. */

import { useMutation } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { useMemo } from "react"
import { agentRequest } from "../agent/agent-request.js"
import { useAgent } from "../agent/use-agent.js"
import { Button, onlyReads } from "../frame/button.js"
import { CurlButton } from "../frame/curl-button.js"
import { CircleStop, RotateCcw } from "../frame/icons.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { oneIn, textIn, useSearchState } from "../frame/search.js"
import { explainedOf } from "../requests/explained.js"
import { useReplay } from "../time-travel/replay.js"
import { EventList } from "./event-list.js"
import { historyLimit, isOver, requestsOf } from "./read-run.js"
import { RequestView } from "./request-view.js"
import type { Row } from "./row.js"
import { RowDetails } from "./row-details.js"
import type { RunInfo } from "./run-data.js"
import { RunFacts } from "./run-facts.js"
import { useRun, useWait } from "./use-run.js"
import { waterfallOf } from "./waterfall.js"
import { WaterfallView } from "./waterfall-view.js"

const views = ["waterfall", "events", "request"] as const
const viewNames = { waterfall: "Waterfall", events: "Events", request: "Request" }

const searchOf = (raw: Readonly<Record<string, unknown>>) => ({
  view: oneIn(raw, "view", views) ?? "waterfall",
  row: textIn(raw, "row"),
})

export function RunPage() {
  const { threadId = "", runId = "" } = useParams({ strict: false }) as { threadId?: string; runId?: string }
  const agent = useAgent()
  const history = useRun({ threadId, runId })
  const [{ view, row: rowKey }, change] = useSearchState(searchOf)
  const { run, events } = history
  const waterfall = useMemo(() => waterfallOf(history), [history])
  const stopping = useMutation({ mutationFn: () => agent.client.runs.cancel(threadId, runId) })
  const wait = useWait({ threadId, runId }, run.status === "pending")
  const chosen =
    waterfall.rows.find(({ key }) => key === rowKey) ??
    waterfall.firstError ??
    waterfall.rows.find(({ kind }) => kind === "attempt")
  const { run: path, attempts, events: eventsPath, trace, history: states } = requestsOf({ threadId, runId })
  const requests = [
    ...[path, attempts, eventsPath, trace].map((one) => agentRequest(agent, "GET", one)),
    agentRequest(agent, "POST", states.path, states.body),
  ]
  return (
    <Page
      title={`Run ${runId.slice(-8)}`}
      above={
        <Link to={`${agent.base}/threads/${threadId}`}>
          Thread <span className="mono">{threadId.slice(-8)}</span>
        </Link>
      }
      actions={
        <>
          <CurlButton requests={requests} />
          {!isOver(run) && <Stop stopping={stopping} />}
        </>
      }
    >
      {stopping.error && !isOver(run) && <Problem error={stopping.error} />}
      <RunFacts run={run} waterfall={waterfall} wait={wait} />
      <FirstError run={run} row={waterfall.firstError} onShow={(row) => change({ view: "waterfall", row: row.key })} />
      <nav className="tabs run-tabs" aria-label="Views of the run">
        {views.map((one) => (
          <Link
            key={one}
            to="."
            search={{ view: one } as never}
            className="tabs-one"
            aria-current={one === view ? "page" : undefined}
          >
            {viewNames[one]}
            {one === "events" && <span className="tabs-count number">{events.length}</span>}
          </Link>
        ))}
      </nav>
      {view === "waterfall" && history.states.length >= historyLimit && (
        <p className="note">Of the checkpoints of this run, the last {historyLimit} are shown.</p>
      )}
      {view === "waterfall" && (
        <div className="run">
          <WaterfallView waterfall={waterfall} chosen={chosen?.key} onChoose={(row) => change({ row: row.key })} />
          {chosen && (
            <RowDetails
              row={chosen}
              history={history}
              again={<Again row={chosen} threadId={threadId} assistantId={run.assistant_id} />}
            />
          )}
        </div>
      )}
      {view === "events" && <EventList run={run} events={events} />}
      {view === "request" && <RequestView run={run} />}
    </Page>
  )
}

function FirstError({
  run,
  row,
  onShow,
}: {
  run: Pick<RunInfo, "error">
  row: Row | undefined
  onShow: (row: Row) => void
}) {
  if (!run.error) return null
  const { error, message, doc_url } = run.error
  const place = row?.kind === "node" ? `The node ${row.label} failed first.` : "No single node failed."
  return (
    <Problem
      error={new Error(`${error}: ${message}`)}
      next={place}
      explained={explainedOf(error, doc_url)}
      action={row && <Button onPress={() => onShow(row)}>Show where</Button>}
    />
  )
}

function Stop({ stopping }: { stopping: { readonly isPending: boolean; readonly mutate: () => void } }) {
  const { mayRun } = useAgent()
  return (
    <Button
      look="danger"
      isPending={stopping.isPending}
      disabledBecause={mayRun ? undefined : onlyReads}
      onPress={() => stopping.mutate()}
    >
      <CircleStop size={14} aria-hidden /> Stop
    </Button>
  )
}

/** Runs again from the checkpoint before a super-step. */
function Again({ row, threadId, assistantId }: { row: Row; threadId: string; assistantId: string }) {
  const { replay, isPending, error, refusal } = useReplay({ threadId, assistantId })
  const { checkpointId } = row
  if (checkpointId === undefined) return null
  return (
    <>
      <Button isPending={isPending} disabledBecause={refusal} onPress={() => replay(checkpointId)}>
        <RotateCcw size={14} aria-hidden /> Run again from here
      </Button>
      {error && <Problem error={error} />}
    </>
  )
}

/** What waits and why it does not start, and what executes. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { agentRequest } from "../agent/agent-request.js"
import { useAgent } from "../agent/use-agent.js"
import { Button, onlyReads } from "../frame/button.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { X } from "../frame/icons.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { Exactly } from "../frame/time.js"
import { durationText, exactly } from "../frame/time-text.js"
import { actionsHead, BareTable } from "../tables/table.js"
import { mostPages, pageSize, pathOf, type QueuedRun, useQueue } from "./queue-data.js"

export function QueuePage() {
  const agent = useAgent()
  const [pages, setPages] = useState(1)
  const waiting = useQueue("pending", pages)
  const running = useQueue("running", pages)
  const requests = [pathOf("pending", pages), pathOf("running", pages)].map((path) => agentRequest(agent, "GET", path))
  const more = (
    <p className="queue-more">
      {pages < mostPages ? (
        <Button onPress={() => setPages(pages + 1)}>Show {pageSize} more</Button>
      ) : (
        <span className="soft">No more than {pageSize * mostPages} are listed.</span>
      )}
    </p>
  )
  return (
    <Page title="Queue" actions={<CurlButton requests={requests} />}>
      {waiting.total === 0 && running.total === 0 && (
        <Empty title="Nothing waits and nothing executes">
          Runs are listed here from their request to their end. A run that waits says why it does not start yet.
        </Empty>
      )}
      {waiting.total > 0 && <Runs title={`${waiting.total} waiting`} runs={waiting.runs} />}
      {waiting.total > waiting.runs.length && more}
      {running.total > 0 && <Runs title={`${running.total} executing`} runs={running.runs} />}
      {running.total > running.runs.length && more}
    </Page>
  )
}

const positionHead = (
  <>
    <span className="visually-hidden">Position </span>#
  </>
)

function Runs({ title, runs }: { title: string; runs: readonly QueuedRun[] }) {
  const isWaiting = runs[0]?.status === "pending"
  const shared = ["Run", "Graph", isWaiting ? "Why it waits" : "Attempt", "Since", actionsHead]
  return (
    <section className="card queue-runs" aria-label={title}>
      <h2 className="number">{title}</h2>
      <BareTable heads={isWaiting ? [positionHead, ...shared] : shared}>
        {runs.map((run) => (
          <RunRow key={run.run_id} run={run} />
        ))}
      </BareTable>
    </section>
  )
}

function RunRow({ run }: { run: QueuedRun }) {
  const { client, mayRun, base, url } = useAgent()
  const queries = useQueryClient()
  const cancelling = useMutation({
    mutationFn: () => client.runs.cancel(run.thread_id, run.run_id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["queue", url] }),
  })
  const id = run.run_id.slice(-8)
  return (
    <>
      <tr>
        {run.position !== null && <td className="queue-position number">{run.position}</td>}
        <td>
          <Link to={`${base}/threads/${run.thread_id}/runs/${run.run_id}`} className="mono">
            {id}
          </Link>
        </td>
        <td>{run.graph_id}</td>
        <td className="queue-why">
          {run.wait ? <Why wait={run.wait} threadId={run.thread_id} /> : <span className="number">{run.attempt}</span>}
        </td>
        <td className="number" title={exactly(run.since)}>
          {durationText(Math.max(0, Date.now() - Date.parse(run.since)))}
        </td>
        <td className="right">
          <Button
            look="quiet"
            label={`Cancel run ${id}`}
            tip="Cancel"
            isPending={cancelling.isPending}
            disabledBecause={mayRun ? undefined : onlyReads}
            onPress={() => cancelling.mutate()}
          >
            <X size={14} aria-hidden />
          </Button>
        </td>
      </tr>
      {cancelling.error && (
        <tr>
          <td colSpan={6}>
            <Problem error={cancelling.error} />
          </td>
        </tr>
      )}
    </>
  )
}

/** The sentence of the server: the run that it names is a link, and its time is shown in the reader's zone. */
function Why({ wait, threadId }: { wait: NonNullable<QueuedRun["wait"]>; threadId: string }) {
  const { base } = useAgent()
  const { message, run_id: blocking, until } = wait
  const named = blocking ?? until
  if (named === null) return message
  const [before, after] = message.split(named)
  return (
    <>
      {before}
      {blocking === null ? (
        <Exactly at={named} />
      ) : (
        <Link to={`${base}/threads/${threadId}/runs/${blocking}`} className="mono">
          {blocking.slice(-8)}
        </Link>
      )}
      {after}
    </>
  )
}

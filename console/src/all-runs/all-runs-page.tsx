/** The runs of all agents on the platform, in one list. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { CatchBoundary, Link } from "@tanstack/react-router"
import { Suspense, useMemo, useState } from "react"
import { DeployedAgent } from "../agent/agent-layout.js"
import { Button } from "../frame/button.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty, Loading } from "../frame/empty.js"
import { FilterFields } from "../frame/filter-fields.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { useSearchState } from "../frame/search.js"
import { Exactly } from "../frame/time.js"
import { pagePath, paths } from "../platform/paths.js"
import { deploymentsQuery } from "../platform/queries.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { failureText } from "../requests/client-error.js"
import { everyMs } from "../requests/query-client.js"
import { areSet, filtersIn, noFilters } from "../runs/filters.js"
import { HeldList } from "../runs/held-list.js"
import type { SourcedRun } from "../runs/merged.js"
import { Replay } from "../runs/replay.js"
import { SharedRunFilters } from "../runs/run-filters.js"
import { RunList } from "../runs/run-list.js"
import { type Runs, useRuns } from "../runs/use-runs.js"
import { useSources } from "./sources.js"

const pageSize = 30

export function AllRunsPage() {
  const platform = usePlatform()
  const { workspaceId } = platform
  const { data } = useSuspenseQuery(deploymentsQuery(platform))
  const [filters, change] = useSearchState(filtersIn)
  const { awake, others } = useMemo(() => askedOf(data.resources), [data])
  const sources = useSources(awake)
  const pace = { pageSize, refreshMs: everyMs(sources.length) }
  const list = useRuns(sources, filters, pace)
  const [replayed, setReplayed] = useState<SourcedRun>()
  const { runs, heard, hasMore } = list
  const answered = heard - list.refused.length
  const count = `${runs.length.toLocaleString("en")}${hasMore ? "+" : ""} ${runs.length === 1 ? "run" : "runs"}`
  const ofAgents = `of ${answered} ${answered < sources.length ? `of ${sources.length} ` : ""}${sources.length === 1 ? "agent" : "agents"}`
  const isAllRead = heard === sources.length
  return (
    <Page
      title="Runs"
      isWide
      actions={<CurlButton requests={[{ method: "GET", url: pagePath(paths.deployments), workspaceId }]} />}
    >
      <div className="page-rest">
        <FilterFields
          found={answered > 0 ? `${count} ${ofAgents}` : ""}
          onClear={areSet(filters) ? () => change(noFilters) : undefined}
        >
          <SharedRunFilters filters={filters} onChange={change} />
        </FilterFields>
        <NotAsked others={others} />
        <Refusals list={list} agents={sources.length} refreshMs={pace.refreshMs} />
        {!isAllRead && runs.length === 0 && <Loading what="Asking the agents" />}
        {isAllRead && runs.length === 0 && !hasMore && list.refused.length === 0 && (
          <Empty title={areSet(filters) ? "No run matches" : "No runs yet"}>
            The runs of all deployed agents appear here.
          </Empty>
        )}
        {(runs.length > 0 || hasMore) && <RunList key={JSON.stringify(filters)} list={list} onReplay={setReplayed} />}
        {list.pausedAt !== undefined && <HeldList list={list} />}
        {replayed && <ReplayOf {...replayed} onClose={() => setReplayed(undefined)} />}
      </div>
    </Page>
  )
}

/** One that never served has no runs, and a request would wake one that sleeps: this page sends some all the time. */
function askedOf(deployments: readonly Deployment[]) {
  const ready = deployments.filter(({ status, active_revision_id: id }) => status === "READY" && id !== null)
  return {
    awake: ready.filter(({ run_state: state }) => state === "running"),
    others: ready.filter(({ run_state: state }) => state !== "running"),
  }
}

function NotAsked({ others }: { others: readonly Deployment[] }) {
  if (others.length === 0) return null
  return (
    <p className="runs-unasked">
      Not asked, since {others.length === 1 ? "it sleeps or is paused" : "they sleep or are paused"}:{" "}
      {others.map(({ id, name }, index) => (
        <span key={id}>
          {index > 0 && ", "}
          <Link className="text-link" to={`/deployments/${id}/agent/runs`}>
            {name}
          </Link>
        </span>
      ))}
    </p>
  )
}

/** Which agents do not answer, and why. */
function Refusals({ list, agents, refreshMs }: { list: Runs; agents: number; refreshMs: number }) {
  const { refused, cutShort, isReading, askAgain } = list
  if (refused.length === 0 && cutShort.length === 0) return null
  const count = new Set([...refused, ...cutShort].map(({ source }) => source.id)).size
  return (
    <section aria-label="Agents that do not answer">
      <Problem
        error={new Error(`${count} of ${agents} agents ${count === 1 ? "does" : "do"} not answer.`)}
        next={
          refused.length > 0
            ? `Runs are missing here. Each is asked for its newest runs every ${Math.round(refreshMs / 1000)} seconds.`
            : "Runs are missing here."
        }
        action={
          <>
            <ul className="runs-refused">
              {refused.map(({ source, error }) => (
                <li key={source.id}>
                  {source.name}: {failureText(error)}
                </li>
              ))}
              {cutShort.map(({ source, error, since }) => (
                <li key={`${source.id} older`}>
                  {source.name}, runs before <Exactly at={since} />: {failureText(error)}
                </li>
              ))}
            </ul>
            {cutShort.length > 0 && (
              <Button isPending={isReading} onPress={askAgain}>
                Ask again
              </Button>
            )}
          </>
        }
      />
    </section>
  )
}

function ReplayOf({ run, source, onClose }: SourcedRun & { onClose: () => void }) {
  return (
    <CatchBoundary getResetKey={() => run.run_id} errorComponent={({ error }) => <Problem error={error} />}>
      <Suspense>
        <DeployedAgent deploymentId={source.id}>
          <Replay run={run} onClose={onClose} />
        </DeployedAgent>
      </Suspense>
    </CatchBoundary>
  )
}

/** The newest runs of all agents on the platform, in one list. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useCallback } from "react"
import { CurlButton } from "../frame/curl-button.js"
import { Empty, Loading } from "../frame/empty.js"
import { FilterFields } from "../frame/filter-fields.js"
import { LongList, useLongList } from "../frame/long-list.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { useSearchState } from "../frame/search.js"
import { Exactly } from "../frame/time.js"
import { paths } from "../platform/paths.js"
import { deploymentsQuery } from "../platform/queries.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { areSet, filtersIn, noFilters } from "../runs/filters.js"
import { SharedRunFilters } from "../runs/run-filters.js"
import { RunCells } from "../runs/run-list.js"
import { emptyTitle, type MergedRun } from "./merged.js"
import { type AllRuns, mostAgents, useAllRuns } from "./use-all-runs.js"

export function AllRunsPage() {
  const platform = usePlatform()
  const { workspaceId } = platform
  const { data } = useSuspenseQuery(deploymentsQuery(platform))
  const [filters, change] = useSearchState(filtersIn)
  // One that never served has no runs.
  const ready = data.resources.filter(
    ({ status, active_revision_id }) => status === "READY" && active_revision_id !== null,
  )
  // A request would wake one that sleeps, and this page sends some all the time.
  const awake = ready.filter(({ run_state }) => run_state === "running")
  const asked = awake.slice(0, mostAgents)
  const all = useAllRuns(asked, filters)
  const count = `${all.runs.length.toLocaleString("en")}${all.withOlder.length > 0 ? "+" : ""} ${all.runs.length === 1 ? "run" : "runs"}`
  const emptiness = emptyTitle(all, areSet(filters))
  return (
    <Page
      title="Runs"
      isWide
      actions={<CurlButton requests={[{ method: "GET", url: paths.deployments, workspaceId }]} />}
    >
      <div className="runs">
        <FilterFields found={all.isRead ? count : ""} onClear={areSet(filters) ? () => change(noFilters) : undefined}>
          <SharedRunFilters filters={filters} onChange={change} />
        </FilterFields>
        <NotAsked ready={ready} asked={asked} />
        {all.failed.map(({ deployment, error }) => (
          <section key={deployment.id} aria-label={`${deployment.name} does not answer`}>
            <Problem
              error={new Error(`${deployment.name}: ${error instanceof Error ? error.message : String(error)}`)}
              next="Its runs are missing here. It is asked again every 10 seconds."
            />
          </section>
        ))}
        {!all.isRead && all.runs.length === 0 && <Loading what="Asking the agents" />}
        {all.isRead && emptiness !== undefined && (
          <Empty title={emptiness}>The newest runs of all deployed agents appear here.</Empty>
        )}
        {all.runs.length > 0 && <Rows runs={all.runs} />}
        <Older all={all} />
      </div>
    </Page>
  )
}

function NotAsked({ ready, asked }: { ready: readonly Deployment[]; asked: readonly Deployment[] }) {
  const others = ready.filter((deployment) => !asked.includes(deployment))
  if (others.length === 0) return null
  return (
    <p className="faint">
      Not asked, since {others.length === 1 ? "it sleeps or is paused" : "they sleep, are paused or are too many"}:{" "}
      <Names deployments={others.map(({ id, name }) => ({ deploymentId: id, name }))} />
    </p>
  )
}

function Older({ all: { runs, wholeSince, withOlder } }: { all: AllRuns }) {
  if (wholeSince === undefined) return null
  return (
    <p className="runs-more">
      {runs.length === 0 ? "No run is found" : "All runs"} since <Exactly at={wholeSince} />. Older ones{" "}
      {runs.length === 0 ? "may be" : "are"} in the lists of <Names deployments={withOlder} />.
    </p>
  )
}

const Names = ({ deployments }: { deployments: readonly { deploymentId: string; name: string }[] }) =>
  deployments.map(({ deploymentId, name }, index) => (
    <span key={deploymentId}>
      {index > 0 && ", "}
      <Link className="text-link" to={`/deployments/${deploymentId}/agent/runs`}>
        {name}
      </Link>
    </span>
  ))

function Rows({ runs }: { runs: readonly MergedRun[] }) {
  const keyOf = useCallback((index: number) => runs[index]?.run.run_id ?? index, [runs])
  const list = useLongList({ count: runs.length, rowHeight: 52, keyOf })
  return (
    <LongList
      list={list}
      label="Runs"
      isOpen={false}
      row={(index, isCurrent) => {
        const found = runs[index]
        if (!found) return null
        const { run, deploymentId, name } = found
        return (
          <div className="runs-row">
            <Link
              to={`/deployments/${deploymentId}/agent/threads/${run.thread_id}/runs/${run.run_id}`}
              className="runs-link"
              data-row={index}
              tabIndex={isCurrent ? 0 : -1}
              onFocus={() => list.choose(index)}
              preload={false}
            >
              <RunCells run={run} agent={name} />
            </Link>
          </div>
        )
      }}
    />
  )
}

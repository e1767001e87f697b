/** The runs of all threads of an agent, the newest first: which failed, which are slow, which still execute. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useCallback, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { Button, onlyReads } from "../frame/button.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { CircleStop, RotateCcw, X } from "../frame/icons.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { useSearchState } from "../frame/search.js"
import { exactly } from "../frame/time-text.js"
import { isOver } from "../run/read-run.js"
import { canRunAgain, runAgain } from "./again.js"
import { areSet, filtersIn, noFilters } from "./filters.js"
import { RunFilters } from "./run-filters.js"
import { RunList } from "./run-list.js"
import { type ListedRun, listRequest, runsKey, useRunPages } from "./run-pages.js"

export function RunsPage() {
  const agent = useAgent()
  const [filters, change] = useSearchState(filtersIn)
  const pages = useRunPages(filters)
  const { runs, isRead, error, hasMore, isHeld, pausedAt, readMore } = pages
  const count = `${runs.length.toLocaleString("en")}${hasMore ? "+" : ""} ${runs.length === 1 ? "run" : "runs"}`
  const readsOn = pausedAt === undefined ? "Try again" : "Look further back"
  return (
    <Page title="Runs" isWide actions={<CurlButton requests={[listRequest(agent, filters)]} />}>
      <div className="runs">
        <RunFilters filters={filters} onChange={change} found={isRead ? count : ""} />
        {error && <Problem error={error} />}
        {isRead && runs.length === 0 && !hasMore && !areSet(filters) && (
          <Empty title="No runs yet">
            Each run of this agent appears here from the moment it is requested. Runs without a thread leave when they
            end.
          </Empty>
        )}
        {isRead && runs.length === 0 && !hasMore && areSet(filters) && (
          <Empty title="No run matches" action={<Button onPress={() => change(noFilters)}>Remove all filters</Button>}>
            Text is searched in the errors, metadata must contain all given pairs.
          </Empty>
        )}
        {/* Another search is another choice. */}
        <Listed key={JSON.stringify(filters)} pages={pages} />
        {hasMore && isHeld && (
          <p className="runs-more">
            {pausedAt !== undefined && `Nothing more is found back to ${exactly(pausedAt)}. `}
            <Button onPress={readMore}>{readsOn}</Button>
          </p>
        )}
      </div>
    </Page>
  )
}

function Listed({ pages }: { pages: ReturnType<typeof useRunPages> }) {
  const { runs, hasMore } = pages
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const choose = useCallback(
    ({ run_id }: ListedRun) =>
      setChosen((before) => {
        const after = new Set(before)
        if (!after.delete(run_id)) after.add(run_id)
        return after
      }),
    [],
  )
  return (
    <>
      <Chosen runs={runs.filter(({ run_id }) => chosen.has(run_id))} onDone={() => setChosen(new Set())} />
      {(runs.length > 0 || hasMore) && <RunList pages={pages} chosen={chosen} onChoose={choose} />}
    </>
  )
}

/** What can be done with the chosen runs, and what came of it. */
function Chosen({ runs, onDone }: { runs: readonly ListedRun[]; onDone: () => void }) {
  const agent = useAgent()
  const queries = useQueryClient()
  const action = useMutation({
    mutationFn: async ({ runs, act }: { runs: readonly ListedRun[]; act: (run: ListedRun) => Promise<void> }) => {
      const outcomes = await Promise.allSettled(runs.map(act))
      const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as Error] : []))
      if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join(" "))
    },
    onSettled: () => queries.invalidateQueries({ queryKey: runsKey(agent) }),
    onSuccess: onDone,
  })
  if (runs.length === 0) return action.error && <Problem error={action.error} />
  const inFlight = runs.filter((run) => !isOver(run))
  const stopped = runs.filter(canRunAgain)
  const reads = agent.mayRun ? undefined : onlyReads
  return (
    <>
      <div className="runs-chosen" role="toolbar" aria-label="Chosen runs">
        <span className="number">{runs.length} chosen</span>
        <Button
          isPending={action.isPending}
          disabledBecause={reads ?? (inFlight.length === 0 ? "None of them waits or executes." : undefined)}
          onPress={() =>
            action.mutate({ runs: inFlight, act: (run) => agent.client.runs.cancel(run.thread_id, run.run_id) })
          }
        >
          <CircleStop size={14} aria-hidden /> Cancel {inFlight.length}
        </Button>
        <Button
          isPending={action.isPending}
          disabledBecause={reads ?? (stopped.length === 0 ? "None of them has failed or was stopped." : undefined)}
          onPress={() => action.mutate({ runs: stopped, act: (run) => runAgain(agent, run) })}
        >
          <RotateCcw size={14} aria-hidden /> Run {stopped.length} again
        </Button>
        <Button
          look="quiet"
          onPress={() => {
            action.reset()
            onDone()
          }}
        >
          <X size={14} aria-hidden /> Clear choice
        </Button>
      </div>
      {action.error && <Problem error={action.error} />}
    </>
  )
}

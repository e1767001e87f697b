/** The runs of all threads of an agent, the newest first: which failed, which are slow, which still execute. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useCallback, useMemo, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { approvalRefusal, Button, onlyReads } from "../frame/button.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { CircleStop, RotateCcw, X } from "../frame/icons.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { useSearchState } from "../frame/search.js"
import { failureText } from "../requests/client-error.js"
import { isOver } from "../run/read-run.js"
import { canRunAgain, goesOn, runAgain } from "./again.js"
import { areSet, filtersIn, noFilters } from "./filters.js"
import { HeldList } from "./held-list.js"
import type { RunSource } from "./merged.js"
import { Replay } from "./replay.js"
import { RunFilters } from "./run-filters.js"
import { RunList } from "./run-list.js"
import { type ListedRun, listRequest } from "./run-pages.js"
import { type Runs, runsKey, useRuns } from "./use-runs.js"

const pace = { pageSize: 100, refreshMs: 5000 }

export function RunsPage() {
  const agent = useAgent()
  const [filters, change] = useSearchState(filtersIn)
  const sources = useMemo<readonly RunSource[]>(
    () => [{ id: agent.url, name: undefined, base: agent.base, fetch: agent.fetch }],
    [agent],
  )
  const list = useRuns(sources, filters, pace)
  const { runs, hasMore } = list
  const isRead = runs.length > 0 || list.heard > list.refused.length
  const error = list.cutShort[0]?.error ?? list.refused[0]?.error
  const count = `${runs.length.toLocaleString("en")}${hasMore ? "+" : ""} ${runs.length === 1 ? "run" : "runs"}`
  return (
    <Page title="Runs" isWide actions={<CurlButton requests={[listRequest(agent, filters, pace.pageSize)]} />}>
      <div className="page-rest">
        <RunFilters filters={filters} onChange={change} found={isRead ? count : ""} />
        {Boolean(error) && <Problem error={error} />}
        {isRead && runs.length === 0 && !hasMore && !areSet(filters) && (
          <Empty title="No runs yet">
            Each run of this agent appears here from the moment it is requested. Runs without a thread leave when they
            end.
          </Empty>
        )}
        {isRead && runs.length === 0 && !hasMore && areSet(filters) && (
          <Empty title="No run matches" action={<Button onPress={() => change(noFilters)}>Remove all filters</Button>}>
            Text is searched in the errors, metadata must contain all given pairs, such as user:ann plan:pro.
          </Empty>
        )}
        {/* Another search is another choice. */}
        <Listed key={JSON.stringify(filters)} list={list} />
        <HeldList list={list} />
      </div>
    </Page>
  )
}

function Listed({ list }: { list: Runs }) {
  const { runs, hasMore } = list
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [replayed, setReplayed] = useState<ListedRun>()
  const choose = useCallback(
    ({ run_id }: ListedRun) =>
      setChosen((before) => {
        const after = new Set(before)
        if (!after.delete(run_id)) after.add(run_id)
        return after
      }),
    [],
  )
  const replay = useCallback(({ run }: { run: ListedRun }) => setReplayed(run), [])
  return (
    <>
      <Chosen
        runs={runs.flatMap(({ run }) => (chosen.has(run.run_id) ? [run] : []))}
        onChoose={(runs) => setChosen(new Set(runs.map(({ run_id }) => run_id)))}
      />
      {(runs.length > 0 || hasMore) && <RunList list={list} chosen={chosen} onChoose={choose} onReplay={replay} />}
      {replayed && <Replay run={replayed} onClose={() => setReplayed(undefined)} />}
    </>
  )
}

/** What can be done with the chosen runs, and what came of it. */
function Chosen({ runs, onChoose }: { runs: readonly ListedRun[]; onChoose: (runs: readonly ListedRun[]) => void }) {
  const agent = useAgent()
  const queries = useQueryClient()
  const action = useMutation({
    mutationFn: async ({ runs, act }: { runs: readonly ListedRun[]; act: (run: ListedRun) => Promise<void> }) => {
      const outcomes = await Promise.allSettled(runs.map(act))
      return runs.flatMap((run, n) => {
        const outcome = outcomes[n]
        return outcome?.status === "rejected" ? [{ run, error: outcome.reason as unknown }] : []
      })
    },
    onSettled: () => queries.invalidateQueries({ queryKey: runsKey(agent.url) }),
    onSuccess: (refused) => onChoose(refused.map(({ run }) => run)),
  })
  const refusals = <Refusals refused={action.data} />
  if (runs.length === 0) return refusals
  const inFlight = runs.filter((run) => !isOver(run))
  const stopped = runs.filter(canRunAgain)
  const reads = agent.mayRun ? undefined : onlyReads
  const noneStopped = stopped.length === 0 ? "None of them has failed or was stopped." : undefined
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
          disabledBecause={reads ?? (stopped.some(goesOn) ? approvalRefusal(agent) : noneStopped)}
          onPress={() => action.mutate({ runs: stopped, act: (run) => runAgain(agent, run) })}
        >
          <RotateCcw size={14} aria-hidden /> Run {stopped.length} again
        </Button>
        <Button
          look="quiet"
          onPress={() => {
            action.reset()
            onChoose([])
          }}
        >
          <X size={14} aria-hidden /> Clear choice
        </Button>
      </div>
      {refusals}
    </>
  )
}

function Refusals({ refused = [] }: { refused: readonly { run: ListedRun; error: unknown }[] | undefined }) {
  if (refused.length === 0) return null
  return (
    <Problem
      error={new Error(`${refused.length} of the chosen runs ${refused.length === 1 ? "was" : "were"} refused.`)}
      next="They are still chosen, for another try."
      action={
        <ul className="runs-refused">
          {refused.map(({ run, error }) => (
            <li key={run.run_id}>
              run <span className="mono">{run.run_id.slice(-8)}</span>: {failureText(error)}
            </li>
          ))}
        </ul>
      }
    />
  )
}

/** What is known about the chosen row of a waterfall. */
import type { ReactNode } from "react"
import { clockOf, durationText } from "../frame/time-text.js"
import { JsonView } from "../json-editor/json-view.js"
import type { Row, RowKind } from "./row.js"
import { SpanContent } from "./span-content.js"
import type { RunHistory } from "./waterfall.js"

const kindNames: Readonly<Record<RowKind, string>> = {
  wait: "Waiting",
  attempt: "Attempt",
  step: "Super-step",
  graph: "Graph",
  node: "Node",
  model: "Model call",
  tool: "Tool",
  retriever: "Retriever",
  chain: "Step of a chain",
}

export function RowDetails({ row, history, again }: { row: Row; history: RunHistory; again: ReactNode }) {
  const result = resultOf(row, history)
  return (
    <section className="run-row" aria-label={`${kindNames[row.kind]} ${row.label}`}>
      <p className="faint">{kindNames[row.kind]}</p>
      <h2>{row.label}</h2>
      <dl className="run-row-facts">
        <dt>Began</dt>
        <dd className="number">{clockOf(row.start)}</dd>
        <dt>{row.isExact ? "Took" : "Took at most"}</dt>
        <dd className="number">{durationText(row.end - row.start)}</dd>
        {row.tokens && (
          <>
            <dt>Tokens</dt>
            <dd className="number">
              {row.tokens.input} in, {row.tokens.output} out
            </dd>
          </>
        )}
        {row.note !== undefined && (
          <>
            <dt>Note</dt>
            <dd>{row.note}</dd>
          </>
        )}
      </dl>
      {!row.isExact && (
        <p className="faint">
          Its own times are not known: the run has no trace. Traces are off, or it is older than they are kept.
        </p>
      )}
      {row.error !== undefined && <pre className="run-error">{row.error}</pre>}
      {again}
      {row.span !== undefined && <SpanContent run={history.run} span={row.span} />}
      {result !== undefined && (
        <>
          <h3>Returned</h3>
          <JsonView value={result} label={`What ${row.label} returned`} />
        </>
      )}
    </section>
  )
}

/** What a node returned, from the task of the state before it. */
function resultOf(row: Row, { states }: RunHistory): unknown {
  if (row.kind !== "node" || row.span !== undefined) return undefined
  const state = states.find(({ checkpoint }) => checkpoint?.checkpoint_id === row.checkpointId)
  const task = state?.tasks.find(({ id }) => row.key.endsWith(id))
  return task?.result ?? undefined
}

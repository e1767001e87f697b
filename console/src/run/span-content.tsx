/** What went into a span and what came out: a prompt and an answer, arguments and a result, a state and its update. */
import { useQuery } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { Loading } from "../frame/empty.js"
import { Problem } from "../frame/problem.js"
import { JsonView } from "../json-editor/json-view.js"
import { readSpan } from "./read-run.js"
import type { RunInfo, TraceSpan } from "./run-data.js"

const words: Readonly<Partial<Record<TraceSpan["kind"], readonly [input: string, output: string]>>> = {
  model: ["Prompt", "Answer"],
  tool: ["Arguments", "Result"],
  retriever: ["Query", "Documents"],
}

export function SpanContent({ run, span }: { run: RunInfo; span: TraceSpan }) {
  const agent = useAgent()
  const { data, error, isPending } = useQuery({
    // It is read again when the span has ended.
    queryKey: ["span", agent.url, run.run_id, span.id, span.status],
    queryFn: () => readSpan(agent, { threadId: run.thread_id, runId: run.run_id }, span.id),
  })
  if (error) return <Problem error={error} />
  if (isPending) return <Loading what="Loading what went in and out" />
  if (!data) return <p className="faint">Its input and output are no longer kept: the trace was deleted.</p>
  const [input, output] = words[span.kind] ?? ["Input", "Output"]
  return (
    <>
      {data.is_cut && <p className="faint">It is large, so parts of it were not kept. They are marked with “…”.</p>}
      {data.input !== undefined && <Value title={input} value={data.input} />}
      {data.output !== undefined && <Value title={output} value={data.output} />}
      {data.input === undefined && (
        <p className="faint">Input and output were not kept: SUPERSTEP_TRACES is timings.</p>
      )}
    </>
  )
}

const Value = ({ title, value }: { title: string; value: unknown }) => (
  <>
    <h3>{title}</h3>
    <JsonView value={value} label={title} />
  </>
)

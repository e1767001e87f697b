/** The run in one line of facts: status, waiting, executing, attempts, tokens. */

import { Exactly } from "../frame/time.js"
import { durationText } from "../frame/time-text.js"
import { countText } from "./axis.js"
import type { RunInfo } from "./run-data.js"
import { RunStatus } from "./run-status.js"
import type { Waterfall } from "./waterfall.js"

export function RunFacts({ run, waterfall, wait }: { run: RunInfo; waterfall: Waterfall; wait: string | undefined }) {
  const { tokens, waitedMs, executedMs, rows, superSteps } = waterfall
  const attempts = rows.filter(({ kind }) => kind === "attempt").length
  return (
    <>
      <dl className="run-facts">
        <Fact name="Status">
          <RunStatus status={run.status} />
        </Fact>
        <Fact name="Created">
          <Exactly at={run.created_at} />
        </Fact>
        {run.created_by && (
          <Fact name="By">
            <span title={run.created_by.email}>{run.created_by.name}</span>
          </Fact>
        )}
        <Fact name="Waited">{durationText(waitedMs)}</Fact>
        <Fact name="Executed">{durationText(executedMs)}</Fact>
        <Fact name="Attempts">{attempts}</Fact>
        <Fact name="Super-steps">{superSteps}</Fact>
        {tokens.calls > 0 && <Fact name="Model calls">{tokens.calls}</Fact>}
        {tokens.calls > tokens.unknown && (
          <Fact name="Tokens">
            {countText(tokens.input)} in, {countText(tokens.output)} out
          </Fact>
        )}
      </dl>
      {wait !== undefined && (
        <p className="run-wait" role="status">
          {wait}
        </p>
      )}
      {run.status === "interrupted" && run.cancel_reason && (
        <p className="run-wait">It was stopped: {run.cancel_reason}.</p>
      )}
    </>
  )
}

const Fact = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd className="number">{children}</dd>
  </div>
)

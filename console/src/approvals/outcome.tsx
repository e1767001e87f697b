/** What became of answers that were sent. */
import { Link } from "@tanstack/react-router"
import { useAgent } from "../agent/use-agent.js"
import { CircleCheck } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import type { SentAnswer } from "./answers.js"

export function Outcome({ sent }: { sent: readonly SentAnswer[] | undefined }) {
  const { base } = useAgent()
  const refused = sent?.find(({ error }) => error !== undefined)
  const runs = sent?.filter(({ runId }) => runId !== undefined) ?? []
  const [first] = runs
  return (
    <>
      <div className={first ? "approvals-outcome" : undefined} role="status">
        {first && (
          <>
            <CircleCheck size={16} aria-hidden />
            {runs.length === 1 ? "The answer was sent." : `${runs.length} threads got their answers.`}
            {runs.length === 1 && (
              <Link to={`${base}/threads/${first.threadId}/runs/${first.runId}`}>Show the run</Link>
            )}
          </>
        )}
      </div>
      {refused && (
        <Problem
          error={refused.error}
          next="Somebody else may have answered it meanwhile: look at its thread, then try again."
        />
      )}
    </>
  )
}

/** What became of answers that were sent. */
import { Link } from "@tanstack/react-router"
import { useAgent } from "../agent/use-agent.js"
import { CircleCheck } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { failureText } from "../requests/client-error.js"
import type { SentAnswer } from "./answers.js"

export function Outcome({ sent = [] }: { sent: readonly SentAnswer[] | undefined }) {
  const { base } = useAgent()
  const runs = sent.filter(({ runId }) => runId !== undefined)
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
      <Refusals sent={sent} />
    </>
  )
}

function Refusals({ sent }: { sent: readonly SentAnswer[] }) {
  const { base } = useAgent()
  const refused = sent.filter(({ error }) => error !== undefined)
  const [first] = refused
  if (first === undefined) return null
  const isOnly = sent.length === 1
  return (
    <Problem
      error={isOnly ? first.error : new Error(`${refused.length} of ${sent.length} threads did not take their answer.`)}
      next="Somebody else may have answered it meanwhile: look at its thread, then try again."
      action={
        <ul className="approvals-refused">
          {refused.map(({ threadId, error }) => (
            <li key={threadId}>
              <Link className="text-link" to={`${base}/threads/${threadId}`}>
                thread <span className="mono">{threadId.slice(-8)}</span>
              </Link>
              {!isOnly && `: ${failureText(error)}`}
            </li>
          ))}
        </ul>
      }
    />
  )
}

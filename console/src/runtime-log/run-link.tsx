/** From a line to its run, and to the other lines of the run. */
import { Link } from "@tanstack/react-router"
import { shortId } from "../deployments/status.js"
import { Filter } from "../frame/icons.js"

export interface RunLinkProps {
  readonly deploymentId: string
  readonly runId: string
  /** Undefined if no line that was read names it. */
  readonly threadId: string | undefined
  readonly onFilter: () => void
}

export function RunLink({ deploymentId, runId, threadId, onFilter }: RunLinkProps) {
  const name = `run ${shortId(runId).slice(-4)}`
  return (
    <span className="log-run">
      {threadId === undefined ? (
        name
      ) : (
        <Link to={`/deployments/${deploymentId}/agent/threads/${threadId}/runs/${runId}`}>{name}</Link>
      )}
      <button
        type="button"
        aria-label={`Show only the lines of ${name}`}
        title="Show only its lines"
        onClick={onFilter}
      >
        <Filter size={11} aria-hidden />
      </button>
    </span>
  )
}

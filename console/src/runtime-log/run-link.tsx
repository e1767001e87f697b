/** From a line to its run, and to the other lines of the run. */
import { Link } from "@tanstack/react-router"
import { shortId } from "../deployments/status.js"
import { Filter } from "../frame/icons.js"

export interface RunLinkProps {
  readonly deploymentId: string
  readonly runId: string
  /** Null for lines that were stored before they named it. */
  readonly threadId: string | null
  readonly onFilter: () => void
}

export function RunLink({ deploymentId, runId, threadId, onFilter }: RunLinkProps) {
  const name = `run ${shortId(runId).slice(-4)}`
  return (
    <span className="log-run">
      {threadId === null ? (
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

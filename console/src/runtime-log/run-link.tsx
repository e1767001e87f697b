/** From a line to its run: the log names only the run, so its thread is looked up when the link is used. */
import { shortId } from "../deployments/status.js"

export interface RunLinkProps {
  readonly deploymentId: string
  readonly runId: string | null
  readonly onFilter: (runId: string) => void
}

export function RunLink({ runId, onFilter }: RunLinkProps) {
  if (runId === null) return null
  return (
    <button type="button" className="log-run" title="Shows only this run" onClick={() => onFilter(runId)}>
      run {shortId(runId).slice(-4)}
    </button>
  )
}

/** Lines of the runtime log: each names its revision, and its run if it has one. */
import { Link } from "@tanstack/react-router"
import { shortId } from "../deployments/status.js"
import { LogView, type LogViewProps } from "../log-lines/log-view.js"
import { RunLink } from "./run-link.js"

export interface RuntimeView extends Omit<LogViewProps, "log" | "mark"> {
  readonly deploymentId: string
  readonly onRun: (runId: string) => void
}

export function RuntimeLines({ deploymentId, onRun, ...view }: RuntimeView & Pick<LogViewProps, "log">) {
  return (
    <LogView
      {...view}
      mark={({ revision_id, run_id, thread_id }) => (
        <>
          <Link
            className="log-revision"
            to={`/deployments/${deploymentId}/revisions/${revision_id}`}
            title="Its revision"
          >
            {shortId(revision_id).slice(-4)}
          </Link>
          {run_id !== null && (
            <RunLink deploymentId={deploymentId} runId={run_id} threadId={thread_id} onFilter={() => onRun(run_id)} />
          )}
        </>
      )}
    />
  )
}

/** What can be done with one revision. */
import { Link } from "@tanstack/react-router"
import { shortId } from "../deployments/status.js"
import { onlyReads } from "../frame/button.js"
import { Confirm } from "../frame/dialog.js"
import { isFinal } from "../platform/queries.js"
import type { Deployment, Revision } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { usePost } from "./deployment-actions.js"

export interface RevisionActionsProps {
  readonly revision: Revision
  readonly deployment: Deployment
  /** Default true; false on the page of the log itself. */
  readonly hasLogLink?: boolean
}

export function RevisionActions({ revision, deployment, hasLogLink = true }: RevisionActionsProps) {
  const { mayWrite } = usePlatform()
  const post = usePost(deployment.id)
  const disabledBecause = mayWrite ? undefined : onlyReads
  const { id, status, error_code } = revision
  const isServing = id === deployment.active_revision_id
  return (
    <div className="timeline-actions">
      {!isFinal(status) && (
        <Confirm
          title={`Interrupt ${shortId(id)}?`}
          button={{ children: "Interrupt", look: "danger", disabledBecause }}
          confirm="Interrupt"
          isDangerous
          act={() => post(`revisions/${id}/interrupt`)}
        >
          Its build or deployment stops. The revision that serves is not touched.
        </Confirm>
      )}
      {status === "DEPLOYED" && !isServing && revision.traffic === null && (
        <Confirm
          title={`Roll back to ${shortId(id)}?`}
          button={{ children: "Roll back to it", look: error_code === null ? "plain" : "quiet", disabledBecause }}
          confirm="Roll back"
          act={() => post("rollback", { revision_id: id })}
        >
          A new revision with the same commit, settings and secrets takes over. It is not built again, so it takes
          seconds.
        </Confirm>
      )}
      {isFinal(status) && (
        <Confirm
          title={`Redeploy ${shortId(id)}?`}
          button={{ children: "Redeploy", look: "quiet", disabledBecause }}
          confirm="Redeploy"
          act={() => post(`revisions/${id}/redeploy`)}
        >
          A new revision repeats this one: the same commit, secrets and resources.
        </Confirm>
      )}
      {status === "DEPLOYED" && (
        <Link
          to={`/deployments/${deployment.id}/agent/runs`}
          search={{ revision: id } as never}
          className="button button-quiet"
        >
          Its runs
        </Link>
      )}
      {hasLogLink && (
        <Link to={`/deployments/${deployment.id}/revisions/${id}`} className="button button-quiet">
          Build log
        </Link>
      )}
    </div>
  )
}

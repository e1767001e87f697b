/** One revision on the timeline: its state, why it failed, what can be done. */
import { Link } from "@tanstack/react-router"
import { Checkbox } from "react-aria-components/Checkbox"
import { reasonOf, shortId, shownRevision, titleOf } from "../deployments/status.js"
import { Badge } from "../frame/badge.js"
import { TriangleAlert } from "../frame/icons.js"
import { ErrorCode } from "../frame/problem.js"
import type { Deployment, Revision } from "../platform/types.js"
import { explainedOf } from "../requests/explained.js"
import { Canary } from "./canary.js"
import { RevisionActions } from "./revision-actions.js"
import { RevisionFacts } from "./revision-facts.js"

export interface RevisionItemProps {
  readonly revision: Revision
  readonly deployment: Deployment
  /** The one before it. */
  readonly before: Revision | undefined
  /** Whether the end of its log is shown; else it is folded. */
  readonly isOpen: boolean
  /** Where revisions can be chosen for a comparison. */
  readonly choice?: { readonly isChosen: boolean; readonly onChoose: (isChosen: boolean) => void }
}

export function RevisionItem({ revision, deployment, before, isOpen, choice }: RevisionItemProps) {
  const { word, tone, isMoving = false } = shownRevision(revision, deployment.active_revision_id)
  const reason = reasonOf(revision.status_message)
  const explained = explainedOf(revision.error_code, revision.error_doc_url)
  const isCanary = word === "Canary"
  return (
    <li className={`timeline-item timeline-${tone}`}>
      {choice && (
        <Checkbox
          className="timeline-choice"
          isSelected={choice.isChosen}
          onChange={choice.onChoose}
          aria-label={`Compare revision ${shortId(revision.id)}`}
        >
          <span className="checkbox-box" aria-hidden />
        </Checkbox>
      )}
      <div className="timeline-body">
        <p className="timeline-title">
          <Badge tone={tone} isMoving={isMoving}>
            {word}
          </Badge>
          <Link to={`/deployments/${deployment.id}/revisions/${revision.id}`} className="timeline-message cut">
            {titleOf(revision) ?? `Revision ${shortId(revision.id)}`}
          </Link>
        </p>
        <RevisionFacts revision={revision} before={before} />
        {reason && (
          <div className={tone === "bad" ? "reason reason-bad" : "reason"}>
            <p>
              <TriangleAlert size={14} aria-hidden /> {reason.sentence}{" "}
              {explained && <ErrorCode explained={explained} />}
            </p>
            {reason.lines.length > 0 && (
              <details open={isOpen}>
                <summary>The end of its log</summary>
                <pre>{reason.lines.join("\n")}</pre>
              </details>
            )}
          </div>
        )}
        {isCanary && <Canary revision={revision} deployment={deployment} />}
      </div>
      <RevisionActions revision={revision} deployment={deployment} />
    </li>
  )
}

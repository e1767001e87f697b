/** One revision on the timeline: its state, why it failed, what can be done. */
import { Link } from "@tanstack/react-router"
import { Checkbox } from "react-aria-components/Checkbox"
import { reasonOf, shortId, shownRevision, triggerText } from "../deployments/status.js"
import { Badge } from "../frame/badge.js"
import { TriangleAlert } from "../frame/icons.js"
import { Ago } from "../frame/time.js"
import { durationText, sizeText } from "../frame/time-text.js"
import type { Deployment, Revision } from "../platform/types.js"
import { Canary } from "./canary.js"
import { isNewUpload, shortHash } from "./compare.js"
import { RevisionActions } from "./revision-actions.js"

export interface RevisionItemProps {
  readonly revision: Revision
  readonly deployment: Deployment
  /** The one before it. */
  readonly before: Revision | undefined
  readonly isChosen: boolean
  readonly onChoose: (isChosen: boolean) => void
}

export function RevisionItem({ revision, deployment, before, isChosen, onChoose }: RevisionItemProps) {
  const { word, tone, isMoving = false } = shownRevision(revision, deployment.active_revision_id)
  const reason = reasonOf(revision.status_message)
  const isCanary = word === "Canary"
  return (
    <li className={`timeline-item timeline-${tone}`}>
      <Checkbox
        className="timeline-choice"
        isSelected={isChosen}
        onChange={onChoose}
        aria-label={`Compare revision ${shortId(revision.id)}`}
      >
        <span className="checkbox-box" aria-hidden />
      </Checkbox>
      <div className="timeline-body">
        <p className="timeline-title">
          <Badge tone={tone} isMoving={isMoving}>
            {word}
          </Badge>
          <Link to={`/deployments/${deployment.id}/revisions/${revision.id}`} className="timeline-message">
            {revision.commit?.message.split("\n")[0] || `Revision ${shortId(revision.id)}`}
          </Link>
        </p>
        <p className="timeline-facts">
          {revision.commit && (
            <>
              <code>{revision.commit.sha.slice(0, 7)}</code> {revision.commit.author} ·{" "}
            </>
          )}
          {revision.upload && (
            <>
              <code title="The SHA-256 of the archive, its start">{shortHash(revision.upload.sha256)}</code>{" "}
              {sizeText(revision.upload.size_bytes)} ·{" "}
            </>
          )}
          {triggerText(revision.trigger, isNewUpload(revision, before))} <Ago at={revision.created_at} />
          <Took revision={revision} />
          {revision.traffic && <> · {revision.traffic.weight}% of the threads</>}
          {revision.pinned_threads > 0 && <> · {pinned(revision.pinned_threads)}</>}
          {revision.orphaned_threads ? <> · {revision.orphaned_threads} threads could not continue on it</> : null}
        </p>
        {reason && (
          <div className={tone === "bad" ? "reason reason-bad" : "reason"}>
            <p>
              <TriangleAlert size={14} aria-hidden /> {reason.sentence}
            </p>
            {reason.lines.length > 0 && <pre>{reason.lines.join("\n")}</pre>}
          </div>
        )}
        {isCanary && <Canary revision={revision} deployment={deployment} />}
      </div>
      <RevisionActions revision={revision} deployment={deployment} />
    </li>
  )
}

const pinned = (count: number) => `${count} pinned ${count === 1 ? "thread" : "threads"}`

function Took({ revision: { started_at, finished_at } }: { revision: Revision }) {
  if (!started_at || !finished_at) return null
  return <> · took {durationText(Date.parse(finished_at) - Date.parse(started_at))}</>
}

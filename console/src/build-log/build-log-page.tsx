/** One revision: its stages with durations, and the log of its build as it is written. */

import { useQuery, useSuspenseQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { CodeDifference } from "../code-changes/code-difference.js"
import { reasonOf, shortId, shownRevision, titleOf } from "../deployments/status.js"
import { Badge } from "../frame/badge.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { TriangleAlert } from "../frame/icons.js"
import { Page } from "../frame/page.js"
import { ErrorCode } from "../frame/problem.js"
import { oneIn, type RawSearch, textIn, useSearchState } from "../frame/search.js"
import { durationText } from "../frame/time-text.js"
import { LogView } from "../log-lines/log-view.js"
import { useLog } from "../log-lines/use-log.js"
import { DeploymentPath } from "../platform/deployment-path.js"
import { paths } from "../platform/paths.js"
import { deploymentQuery, isFinal, revisionQuery, revisionsQuery } from "../platform/queries.js"
import type { Revision } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { explainedOf } from "../requests/explained.js"
import { revisionBefore } from "../revisions/compare.js"
import { RevisionActions } from "../revisions/revision-actions.js"
import { RevisionFacts } from "../revisions/revision-facts.js"
import { stepsOf } from "./stages.js"

const types = ["build", "deploy"] as const
const searchOf = (raw: RawSearch) => ({ type: oneIn(raw, "type", types) ?? "build", q: textIn(raw, "q") ?? "" })

// The longest log that is shown at once: as many lines as the API sends as a tail.
const tail = 1000

export function BuildLogPage() {
  const { deploymentId = "", revisionId = "" } = useParams({ strict: false })
  const platform = usePlatform()
  const { workspaceId } = platform
  const { data: deployment } = useSuspenseQuery(deploymentQuery(platform, deploymentId))
  const { data: revision } = useSuspenseQuery(revisionQuery(platform, deploymentId, revisionId))
  const all = useQuery(revisionsQuery(platform, deploymentId)).data?.resources ?? []
  const before = revisionBefore(all, revisionId)
  const [{ type, q }, change] = useSearchState(searchOf)
  const path = `${paths.revision(deploymentId, revisionId)}/logs`
  const filter = q.trim() === "" ? "" : `&query=${encodeURIComponent(q.trim())}`
  const log = useLog(platform, { path, query: `type=${type}${filter}`, tail })
  const { word, tone, isMoving = false } = shownRevision(revision, deployment.active_revision_id)
  const reason = reasonOf(revision.status_message)
  const explained = explainedOf(revision.error_code, revision.error_doc_url)
  return (
    <Page
      title={titleOf(revision) ?? `Revision ${shortId(revisionId)}`}
      isWide
      above={
        <>
          <DeploymentPath {...deployment} /> / revision <code>{shortId(revisionId)}</code>
        </>
      }
      actions={
        <>
          <CurlButton
            requests={[
              { method: "GET", url: paths.revision(deploymentId, revisionId), workspaceId },
              { method: "GET", url: `${path}?type=${type}&limit=1000${filter}`, workspaceId },
            ]}
          />
          <RevisionActions revision={revision} deployment={deployment} hasLogLink={false} />
        </>
      }
    >
      <div className="build-log-head">
        <Badge tone={tone} isMoving={isMoving}>
          {word}
        </Badge>
        <Stages revision={revision} />
      </div>
      <RevisionFacts revision={revision} before={before} />
      {before && <CodeDifference before={before} after={revision} />}
      {reason && tone === "bad" && (
        <p className="reason reason-bad build-log-reason">
          <TriangleAlert size={14} aria-hidden /> {reason.sentence} {explained && <ErrorCode explained={explained} />}
        </p>
      )}
      <LogView
        log={log}
        label={`Log of the ${type}`}
        search={q}
        onSearch={(text) => change({ q: text })}
        filters={
          <select
            aria-label="Which log"
            value={type}
            onChange={({ target }) => change({ type: target.value as (typeof types)[number] })}
          >
            <option value="build">Build</option>
            <option value="deploy">Processes</option>
          </select>
        }
        empty={
          <Empty
            title={
              filter !== ""
                ? "No line matches"
                : type === "build"
                  ? "The build has written nothing yet"
                  : "Its processes have written nothing yet"
            }
          />
        }
      />
    </Page>
  )
}

const tickMs = 1000

function Stages({ revision }: { revision: Revision }) {
  const [now, setNow] = useState(() => Date.now())
  const isOver = isFinal(revision.status)
  useEffect(() => {
    if (isOver) return
    const timer = setInterval(() => setNow(Date.now()), tickMs)
    return () => clearInterval(timer)
  }, [isOver])
  return (
    <ol className="stages" aria-label="Stages">
      {stepsOf(revision, now).map(({ name, state, durationMs }) => (
        // As wide as it took, and at least as wide as its words.
        <li key={name} className={`stage stage-${state}`} style={{ flexGrow: Math.max(1, durationMs ?? 1) }}>
          <span className="stage-name">{name}</span>
          <span className="number">{durationMs === undefined ? "–" : durationText(durationMs)}</span>
          <span className="visually-hidden">{state}</span>
        </li>
      ))}
    </ol>
  )
}

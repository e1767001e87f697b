/** One deployment: how it is, and its revisions as a timeline. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { shownDeployment } from "../deployments/status.js"
import { Badge } from "../frame/badge.js"
import { CopyText } from "../frame/copy-text.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { ArrowLeftRight, ArrowRight } from "../frame/icons.js"
import { Page } from "../frame/page.js"
import { type RawSearch, textIn, useSearchState } from "../frame/search.js"
import { paths } from "../platform/paths.js"
import { deploymentQuery, revisionsQuery } from "../platform/queries.js"
import { usePlatform } from "../platform/use-platform.js"
import { Comparison } from "./comparison.js"
import { DeploymentActions } from "./deployment-actions.js"
import { RevisionItem } from "./revision-item.js"

/** `compare=<id>,<id>`: the two chosen revisions. */
const searchOf = (raw: RawSearch) => ({ compare: (textIn(raw, "compare") ?? "").split(",").filter((id) => id !== "") })

export function RevisionsPage() {
  const { deploymentId = "" } = useParams({ strict: false })
  const platform = usePlatform()
  const { workspaceId } = platform
  const { data: deployment } = useSuspenseQuery(deploymentQuery(platform, deploymentId))
  const { data } = useSuspenseQuery(revisionsQuery(platform, deploymentId))
  const [{ compare }, change] = useSearchState(searchOf)
  const revisions = data.resources
  const { word, tone, isMoving = false } = shownDeployment(deployment)
  const choose = (id: string, isChosen: boolean) => {
    const ids = isChosen ? [...compare, id].slice(-2) : compare.filter((it) => it !== id)
    change({ compare: (ids.length > 0 ? ids.join(",") : undefined) as never })
  }
  const chosen = compare.flatMap((id) => revisions.find((it) => it.id === id) ?? [])
  return (
    <Page
      title={deployment.name}
      above={<Link to="/">Deployments</Link>}
      actions={
        <>
          <CurlButton
            requests={[
              { method: "GET", url: paths.deployment(deploymentId), workspaceId },
              { method: "GET", url: paths.revisions(deploymentId), workspaceId },
            ]}
          />
          <DeploymentActions deployment={deployment} />
        </>
      }
    >
      <div className="revisions-facts">
        <Badge tone={tone} isMoving={isMoving}>
          {word}
        </Badge>
        {deployment.source_config.custom_url !== null && (
          <CopyText text={deployment.source_config.custom_url} label="the address" />
        )}
        {deployment.source_config.repo_url && (
          <span className="faint revisions-source">
            from {deployment.source_config.repo_url} {deployment.source_config.repo_branch}
          </span>
        )}
        {deployment.active_revision_id && (
          <Link to={`/deployments/${deploymentId}/agent/threads`} className="revisions-open">
            Open its threads <ArrowRight size={13} aria-hidden />
          </Link>
        )}
      </div>
      {chosen.length === 1 && (
        <p className="notice" role="status">
          <ArrowLeftRight size={14} aria-hidden /> Choose a second revision to compare.
        </p>
      )}
      {chosen.length === 2 && (
        <Comparison
          revisions={chosen}
          order={revisions.map(({ id }) => id)}
          close={() => change({ compare: undefined })}
        />
      )}
      <section className="section" aria-labelledby="revisions-heading">
        <div className="section-head">
          <h2 id="revisions-heading">Revisions</h2>
        </div>
        {revisions.length === 0 && (
          <Empty title="There is no revision yet">The first one starts when its source is there.</Empty>
        )}
        <ol className="timeline card">
          {revisions.map((revision, position) => (
            <RevisionItem
              key={revision.id}
              revision={revision}
              deployment={deployment}
              before={revisions[position + 1]}
              isChosen={compare.includes(revision.id)}
              onChoose={(isChosen) => choose(revision.id, isChosen)}
            />
          ))}
        </ol>
      </section>
    </Page>
  )
}

/** All deployments of the workspace: how they are, and what they did in the last hour. */
import { useQuery, useSuspenseQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { Badge } from "../frame/badge.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty } from "../frame/empty.js"
import { Page } from "../frame/page.js"
import { type RawSearch, textIn, useSearchState } from "../frame/search.js"
import { Ago } from "../frame/time.js"
import { requestsOf, runsNow } from "../platform/metrics.js"
import { pagePath, paths } from "../platform/paths.js"
import { deploymentsQuery, metricsQuery, newestRevisionsQuery } from "../platform/queries.js"
import type { Deployment, MetricsPoint } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { BarChart } from "../tables/bar-chart.js"
import { barsOf, sentenceOf } from "../tables/bars.js"
import { BareTable } from "../tables/table.js"
import { TableBox } from "../tables/table-box.js"
import { DeployExample, NewDeployment } from "./new-deployment.js"
import { shownDeployment, shownRevision, titleOf } from "./status.js"

const searchOf = (raw: RawSearch) => ({ name: textIn(raw, "name") ?? "" })

export function DeploymentsPage() {
  const platform = usePlatform()
  const { workspaceId } = platform
  const [{ name }, change] = useSearchState(searchOf)
  const { data } = useSuspenseQuery(deploymentsQuery(platform))
  const shown = data.resources.filter((it) => it.name.includes(name.trim().toLowerCase()))
  const requests = [
    { method: "GET", url: pagePath(paths.deployments), workspaceId },
    ...shown.slice(0, 1).map(({ id }) => ({ method: "GET", url: paths.metrics(id), workspaceId })),
  ]
  return (
    <Page
      title="Deployments"
      actions={
        <>
          <CurlButton requests={requests} />
          <NewDeployment />
        </>
      }
    >
      {data.resources.length === 0 ? (
        <Empty title="Nothing is deployed yet" action={<DeployExample />}>
          Deploy the example to see an agent at work, or your own project: in its folder run{" "}
          <code>superstep deploy</code>, or name its git repository.
        </Empty>
      ) : (
        <>
          {data.resources.length > 8 && (
            <input
              type="search"
              className="deployments-search"
              aria-label="Search by name"
              placeholder="Search by name"
              value={name}
              onChange={({ target }) => change({ name: target.value || undefined })}
            />
          )}
          <TableBox label="Deployments">
            <BareTable
              heads={["Deployment", "Status", "Last revision", "Traffic", "Running", "Waiting", "Last hour"]}
              className="deployments"
            >
              {shown.map((deployment) => (
                <Row key={deployment.id} deployment={deployment} lines={shown.length} />
              ))}
            </BareTable>
            {shown.length === 0 && <Empty title={`No deployment has “${name}” in its name`} />}
          </TableBox>
        </>
      )}
    </Page>
  )
}

interface RowProps {
  readonly deployment: Deployment
  /** How many rows are shown. */
  readonly lines: number
}

function Row({ deployment, lines }: RowProps) {
  const platform = usePlatform()
  const { id, name, source_config } = deployment
  const { data: metrics } = useQuery(metricsQuery(platform, id, "1h", lines))
  const { word, tone, isMoving = false } = shownDeployment(deployment)
  const { running, waiting } = runsNow(metrics?.points ?? [])
  return (
    <tr>
      <td>
        <Link to={`/deployments/${id}`} className="deployments-name">
          {name}
        </Link>
        {deployment.is_preview && <span className="faint"> preview</span>}
        <span className="deployments-url cut">{source_config.custom_url}</span>
      </td>
      <td>
        <Badge tone={tone} isMoving={isMoving}>
          {word}
        </Badge>
      </td>
      <Revisions deployment={deployment} lines={lines} />
      <td className="right number deployments-quiet">{running ?? "–"}</td>
      <td className="right number deployments-quiet">{waiting ?? "–"}</td>
      <td className="deployments-quiet">{metrics && <LastHour points={metrics.points} />}</td>
    </tr>
  )
}

const hourMs = 3_600_000

function LastHour({ points }: { points: readonly MetricsPoint[] }) {
  const bars = barsOf(requestsOf(points), { count: 30, windowMs: hourMs, now: Date.now() })
  const sentence = sentenceOf(bars, ["request", "error"])
  return <BarChart bars={bars} width={120} height={26} label={`In the last hour: ${sentence}`} caption={sentence} />
}

/** The newest revision, and how the threads are divided: usually all are on one. */
function Revisions({ deployment, lines }: RowProps) {
  const { id, active_revision_id } = deployment
  const { data } = useQuery(newestRevisionsQuery(usePlatform(), deployment, lines))
  const newest = data?.resources[0]
  if (!newest)
    return (
      <>
        <td className="deployments-quiet" />
        <td className="deployments-quiet" />
      </>
    )
  const { word, tone, isMoving = false } = shownRevision(newest, active_revision_id)
  const receiving = data.resources.flatMap(({ traffic, ...it }) => (traffic ? [{ ...it, weight: traffic.weight }] : []))
  return (
    <>
      <td className="deployments-newest">
        <Link to={`/deployments/${id}/revisions/${newest.id}`} className="deployments-revision">
          <Badge tone={tone} isMoving={isMoving}>
            {word}
          </Badge>
          <span className="cut">{titleOf(newest) ?? "uploaded"}</span>
        </Link>
        <span className="faint">
          {newest.commit && <code>{newest.commit.sha.slice(0, 7)} </code>}
          <Ago at={newest.created_at} />
        </span>
      </td>
      <td className="number deployments-quiet">
        {receiving.length === 0 && <span className="faint">none</span>}
        {receiving.map(({ id: revisionId, weight }) => (
          <span key={revisionId} className="deployments-weight">
            {weight}% {revisionId === active_revision_id ? "" : "canary"}
          </span>
        ))}
      </td>
    </>
  )
}

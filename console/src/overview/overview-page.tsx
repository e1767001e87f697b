/** The first page of a deployment: how it is, what it did, its revision, and how it is called. */
import { keepPreviousData, useQuery, useSuspenseQuery } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { lazy, type ReactNode, Suspense } from "react"
import { Radio, RadioGroup } from "react-aria-components/RadioGroup"
import { shownDeployment } from "../deployments/status.js"
import { ageNames } from "../frame/age.js"
import { Badge } from "../frame/badge.js"
import { CopyText } from "../frame/copy-text.js"
import { CurlButton } from "../frame/curl-button.js"
import { Empty, Loading } from "../frame/empty.js"
import { ArrowRight } from "../frame/icons.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { oneIn, type RawSearch, useSearchState } from "../frame/search.js"
import { sizeText } from "../frame/time-text.js"
import { firstTokenText, latencyText, requestsOf, runsNow, runsOf, tokensOf, tokensText } from "../platform/metrics.js"
import { paths } from "../platform/paths.js"
import { deploymentQuery, metricsQuery, revisionsQuery } from "../platform/queries.js"
import type { Deployment, Latency, Metrics } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { DeploymentActions } from "../revisions/deployment-actions.js"
import { RevisionItem } from "../revisions/revision-item.js"
import { BarChart } from "../tables/bar-chart.js"
import { barsOf, type Counted, sentenceOf } from "../tables/bars.js"
import { LineChart } from "./line-chart.js"

const WaitingThreads = lazy(async () => ({ default: (await import("./agent-parts.js")).WaitingThreads }))
const CallIt = lazy(async () => ({ default: (await import("./call-it.js")).CallIt }))
const CallAgent = lazy(async () => ({ default: (await import("./agent-parts.js")).CallAgent }))

const windows = ["1h", "24h", "7d"] as const
type Window = (typeof windows)[number]

const searchOf = (raw: RawSearch) => ({ window: oneIn<Window>(raw, "window", windows) ?? "1h" })

export function OverviewPage() {
  const { deploymentId = "" } = useParams({ strict: false })
  return <Overview key={deploymentId} deploymentId={deploymentId} />
}

function Overview({ deploymentId }: { deploymentId: string }) {
  const platform = usePlatform()
  const { workspaceId } = platform
  const { data: deployment } = useSuspenseQuery(deploymentQuery(platform, deploymentId))
  const [{ window }, change] = useSearchState(searchOf)
  const metrics = useQuery({ ...metricsQuery(platform, deploymentId, window), placeholderData: keepPreviousData })
  const { word, tone, isMoving = false } = shownDeployment(deployment)
  const { custom_url: url, repo_url: repository, repo_branch: branch } = deployment.source_config
  return (
    <Page
      title={deployment.name}
      above={<Link to="/">Deployments</Link>}
      actions={
        <>
          <CurlButton
            requests={[
              { method: "GET", url: paths.deployment(deploymentId), workspaceId },
              { method: "GET", url: paths.metrics(deploymentId, window), workspaceId },
            ]}
          />
          <DeploymentActions deployment={deployment} />
        </>
      }
    >
      <div className="overview-facts">
        <Badge tone={tone} isMoving={isMoving}>
          {word}
        </Badge>
        {url !== null && <CopyText text={url} label="the address" />}
        {repository && (
          <span className="faint overview-source">
            from {repository} {branch}
          </span>
        )}
        {deployment.active_revision_id && (
          <Link to={`/deployments/${deploymentId}/agent/threads`} className="overview-open">
            Open its threads <ArrowRight size={13} aria-hidden />
          </Link>
        )}
      </div>
      <Revisions deployment={deployment} />
      {deployment.source_config.listener_id !== null && (
        <p className="notice">It runs at its listener, which measures what it does.</p>
      )}
      {deployment.active_revision_id && deployment.source_config.listener_id === null && (
        <section className="section" aria-labelledby="activity">
          <div className="section-head">
            <h2 id="activity">Activity</h2>
            <WindowChoice window={window} onChange={(it) => change({ window: it })} />
          </div>
          {window === "7d" && (
            <p className="faint overview-note">
              Samples are kept for 24 hours, unless the setting <code>SUPERSTEP_KEEP_METRICS</code> says otherwise.
            </p>
          )}
          {metrics.error && <Problem error={metrics.error} />}
          {metrics.isPending && <Loading what="Loading what it did" />}
          {metrics.data && <Activity metrics={metrics.data} deployment={deployment} window={window} />}
        </section>
      )}
      {url !== null && deployment.active_revision_id && (
        <Suspense fallback={null}>
          {isAwake(deployment) ? (
            <CallAgent deploymentId={deploymentId} url={url} />
          ) : (
            <CallIt url={url} graph="agent" />
          )}
        </Suspense>
      )}
    </Page>
  )
}

/** A request would wake one that sleeps, and this page sends some all the time. */
const isAwake = ({ run_state, health }: Deployment): boolean => run_state === "running" && health === "healthy"

function WindowChoice({ window, onChange }: { window: Window; onChange: (window: Window) => void }) {
  return (
    <RadioGroup
      className="choices"
      aria-label="How far back"
      orientation="horizontal"
      value={window}
      onChange={(value) => onChange(value as Window)}
    >
      {windows.map((each) => (
        <Radio key={each} value={each} className="choices-one">
          {ageNames[each]}
        </Radio>
      ))}
    </RadioGroup>
  )
}

/** The one that serves; and the newest, while it is on its way or when it failed. */
function Revisions({ deployment }: { deployment: Deployment }) {
  const platform = usePlatform()
  const { data } = useSuspenseQuery(revisionsQuery(platform, deployment.id))
  const { resources: all } = data
  const shown = all.filter(({ id }, position) => position === 0 || id === deployment.active_revision_id)
  return (
    <section className="section" aria-labelledby="revision">
      <div className="section-head">
        <h2 id="revision">Revision</h2>
        <Link to={`/deployments/${deployment.id}/revisions`}>
          All revisions <ArrowRight size={13} aria-hidden />
        </Link>
      </div>
      {all.length === 0 && (
        <Empty title="There is no revision yet">The first one starts when its source is there.</Empty>
      )}
      <ol className="timeline card">
        {shown.map((revision) => (
          <RevisionItem
            key={revision.id}
            revision={revision}
            deployment={deployment}
            before={all[all.indexOf(revision) + 1]}
            isOpen
          />
        ))}
      </ol>
    </section>
  )
}

// The API has 90 steps: two for each bar, so that steady traffic is drawn as such.
const bars = 45
const chartHeight = 56

interface ActivityProps {
  readonly metrics: Metrics
  readonly deployment: Deployment
  readonly window: Window
}

function Activity({
  metrics: { points, total, revisions, window_seconds: seconds },
  deployment,
  window,
}: ActivityProps) {
  const windowMs = seconds * 1000
  const newest = points.at(-1)
  const { running, waiting } = runsNow(points)
  const runs = runsOf(points)
  const serving = revisions.find(({ revision_id }) => revision_id === deployment.active_revision_id)
  const failed = revisions.reduce((sum, it) => sum + it.failed, 0)
  const base = `/deployments/${deployment.id}/agent`
  return (
    <div className="overview-activity">
      <Card title="Requests">
        <Bars points={requestsOf(points)} windowMs={windowMs} words={["request", "error"]} />
      </Card>
      <LatencyCard
        title="Time until an answer begins"
        points={points.map(({ at, latency_ms }) => ({ at, latency: latency_ms }))}
        windowMs={windowMs}
        sentence={latencyText(total.latency_ms)}
      />
      <LatencyCard
        title="Time to the first token"
        points={points.map(({ at, first_token_ms }) => ({ at, latency: first_token_ms }))}
        windowMs={windowMs}
        sentence={firstTokenText(total)}
      />
      <Card title="Tokens">
        <BarChart bars={inBars(tokensOf(points), windowMs)} height={chartHeight} label={tokensText(total)} />
        <p className="overview-value">{tokensText(total)}</p>
      </Card>
      <Card title="Runs">
        <Bars points={runs} windowMs={windowMs} words={["run", "failed"]} />
        <p className="faint">
          {serving && <>they take {latencyText(serving.latency_ms)} · </>}
          {runs.some(({ all }) => all > 0) && (
            <Link
              to={`${base}/runs`}
              className="text-link"
              search={{ status: failed > 0 ? "failed" : undefined, since: window } as never}
            >
              {failed > 0 ? "See which failed" : "See them"}
            </Link>
          )}
        </p>
      </Card>
      <Card title="Memory">
        <LineChart
          series={[{ name: "memory", points: points.map(({ at, rss_bytes }) => ({ at, value: rss_bytes })) }]}
          windowMs={windowMs}
          height={chartHeight}
          label={`Memory: ${sizeText(newest?.rss_bytes ?? 0)} now`}
        />
        <p className="overview-value">
          {newest && newest.replicas > 0
            ? `${sizeText(newest.rss_bytes)} in ${replicasText(newest.replicas)}, ${newest.cpu_cores.toFixed(2)} processors`
            : "No replica runs at the moment."}
        </p>
      </Card>
      <Card title="Now">
        <dl className="overview-now">
          <dt>Runs that execute</dt>
          <dd className="number">{running ?? "–"}</dd>
          <dt>Runs that wait</dt>
          <dd className="number">{waiting ?? "–"}</dd>
          <dt>Waits for a person</dt>
          <dd>
            <Suspense fallback={<span className="faint">–</span>}>
              {isAwake(deployment) ? (
                <WaitingThreads deploymentId={deployment.id} />
              ) : (
                <span className="faint">not asked while it is {shownDeployment(deployment).word.toLowerCase()}</span>
              )}
            </Suspense>
          </dd>
        </dl>
      </Card>
    </div>
  )
}

const Card = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="card overview-card" aria-label={title}>
    <h3>{title}</h3>
    {children}
  </section>
)

interface LatencyCardProps {
  readonly title: string
  readonly points: readonly { readonly at: string; readonly latency: Latency }[]
  readonly windowMs: number
  readonly sentence: string
}

function LatencyCard({ title, points, windowMs, sentence }: LatencyCardProps) {
  const line = (which: "p50" | "p95") => points.map(({ at, latency }) => ({ at, value: latency[which] }))
  return (
    <Card title={title}>
      <LineChart
        series={[
          { name: "p50", points: line("p50") },
          { name: "p95", points: line("p95") },
        ]}
        windowMs={windowMs}
        height={chartHeight}
        label={`${title}: ${sentence}`}
      />
      <p className="overview-value">
        {points.some(({ latency }) => latency.p50 !== null) && (
          <>
            <i className="overview-key-0" aria-hidden /> half, <i className="overview-key-1" aria-hidden /> 95 %;{" "}
          </>
        )}
        {sentence}
      </p>
    </Card>
  )
}

const inBars = (points: readonly Counted[], windowMs: number) =>
  barsOf(points, { count: bars, windowMs, now: Date.now() })

interface BarsProps {
  readonly points: readonly Counted[]
  readonly windowMs: number
  readonly words: readonly [what: string, failure: string]
}

function Bars({ points, windowMs, words }: BarsProps) {
  const counts = inBars(points, windowMs)
  const sentence = sentenceOf(counts, words)
  return (
    <>
      <BarChart bars={counts} height={chartHeight} label={sentence} />
      <p className="overview-value">{sentence}</p>
    </>
  )
}

const replicasText = (count: number): string => (count === 1 ? "1 replica" : `${count} replicas`)

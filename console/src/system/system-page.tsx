/** The platform itself: what is wrong, how full it is, and what the workspace may use. */
import { useQuery, useSuspenseQuery } from "@tanstack/react-query"
import { Badge } from "../frame/badge.js"
import { CurlButton } from "../frame/curl-button.js"
import { CircleCheck, TriangleAlert } from "../frame/icons.js"
import { Page } from "../frame/page.js"
import { Problem } from "../frame/problem.js"
import { Section } from "../frame/section.js"
import { sizeText } from "../frame/time-text.js"
import { usePlatform } from "../platform/use-platform.js"
import { ApiError } from "../requests/api-error.js"
import { useHome } from "../requests/home.js"
import { refreshMs } from "../requests/query-client.js"
import { Installation, type System } from "./installation.js"
import { Meter } from "./meter.js"
import { verdictOf } from "./verdict.js"

interface PublicHealth {
  readonly status: string
  readonly warnings?: readonly string[]
}

const seeLog = "See the log of the control plane in the data folder."

export function SystemPage() {
  const { call, session, workspaceId } = usePlatform()
  const { version } = useHome()
  const health = useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => call<PublicHealth>("/health", { signal }),
    refetchInterval: refreshMs,
    retry: false,
  })
  const system = useQuery({
    queryKey: ["system"],
    queryFn: ({ signal }) => call<System>("/v2/system", { signal }),
    refetchInterval: refreshMs,
    enabled: session.is_operator,
  })
  const requests = [
    { method: "GET", url: "/health", hasKey: false },
    { method: "GET", url: "/v2/quotas", workspaceId },
    ...(session.is_operator ? [{ method: "GET", url: "/v2/system", workspaceId }] : []),
  ]
  const problems = [...new Set([...(health.data?.warnings ?? []), ...(system.data?.problems ?? [])])]
  const error = health.error ?? system.error
  const isRead = health.data !== undefined && (system.data !== undefined || !session.is_operator)
  const verdict = verdictOf({ error, isRead, problems })
  return (
    <Page title="System" actions={<CurlButton requests={requests} />}>
      <p className="system-health">
        <Badge tone={verdict.tone}>{verdict.text}</Badge>
        <span className="faint">superstep {version}</span>
      </p>
      {error && <Problem error={error} next={error instanceof ApiError ? seeLog : undefined} />}
      {problems.length > 0 && (
        <ul className="card system-problems">
          {problems.map((problem) => (
            <li key={problem}>
              <TriangleAlert size={15} aria-hidden /> {problem}
            </li>
          ))}
        </ul>
      )}
      {verdict.tone === "good" && (
        <p className="card system-fine">
          <CircleCheck size={15} aria-hidden /> The control plane answers, its database too, and no revision is stuck.
        </p>
      )}
      {system.data && <Installation system={system.data} />}
      {!session.is_operator && (
        <Section title="Installation">
          <p className="soft">
            Disk, connections, certificates and backups are shown to a key of the installation (<code>org_api_key</code>{" "}
            in credentials.json).
          </p>
        </Section>
      )}
      <Quotas />
      <Section title="This machine">
        <p className="soft">
          <code>superstep doctor</code> checks on the machine itself what no API tells: its Node and git, free ports,
          the isolation of deployments, and programs of former releases that still run.
        </p>
      </Section>
    </Page>
  )
}

interface Quota {
  readonly limit: number
  readonly used: number
}

const quotaNames: Readonly<Record<string, string>> = {
  deployments: "Deployments",
  units: "Processes",
  memory_mb: "Memory",
  cpu: "Processors",
  builds: "Builds at once",
  disk_mb: "Disk",
  host_names: "Host names",
}

function Quotas() {
  const { call, workspaceId } = usePlatform()
  const { data } = useSuspenseQuery({
    queryKey: ["quotas", workspaceId],
    queryFn: ({ signal }) => call<Record<string, Quota>>("/v2/quotas", { signal }),
    refetchInterval: refreshMs,
  })
  return (
    <Section title="Quotas of this workspace" about="The operator changes them with superstep quotas.">
      <div className="system-meters">
        {Object.entries(data).map(([name, { used, limit }]) => (
          <Meter
            key={name}
            label={quotaNames[name] ?? name}
            used={used}
            most={limit}
            {...(name.endsWith("_mb") && { text: (mb: number) => sizeText(mb * 1e6) })}
          />
        ))}
      </div>
    </Section>
  )
}

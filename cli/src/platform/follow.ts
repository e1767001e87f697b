/** Waits for a revision and reports its progress, for all commands that create one. */
import type { ErrorCode } from "@superstep/toolkit/errors/codes"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { PlatformApi } from "./api.js"
import type { DeployReport, LogLine } from "./deploy-report.js"
import { type Deployment, followRevision, type Revision } from "./deployments.js"

/** A revision that did not get deployed; the message has the platform's reason and hint, the code is the revision's. */
export class NotDeployed extends KnownError {
  readonly code: ErrorCode
  constructor(message: string, code: ErrorCode | null = null) {
    super(message)
    this.code = code ?? "not_deployed"
  }
}

interface Followed {
  readonly deployment: Deployment
  readonly report: DeployReport
  /** Shows the build's log as it grows. */
  readonly verbose?: boolean
}

const linesAtOnce = 500
const lastLines = 30

/**
 * Follows the latest revision of a deployment to its end, and reports the address.
 * @throws NotDeployed  unless it is deployed, or a newer one took its place
 */
export async function followToEnd(api: PlatformApi, { deployment, report, verbose = false }: Followed): Promise<void> {
  const { id: deploymentId, latest_revision_id: revisionId } = deployment
  if (revisionId === null) throw new NotDeployed(`${deployment.name} has no revision yet`)
  let offset: string | null = null
  const shown: string[] = []
  const show = (line: LogLine) => {
    shown.push(...line.message.split("\n"))
    report.log(line)
  }
  const showLog = async ({ id, status }: Revision) => {
    if (!verbose || status === "CREATING" || status === "QUEUED") return
    // Always reads to the end: after the last status there is no further poll.
    for (let isMore = true; isMore; ) {
      const page = await readBuildLog(api, { deploymentId, revisionId: id, order: "asc", limit: linesAtOnce, offset })
      for (const line of page.logs) show(line)
      offset = page.next_offset ?? offset
      isMore = page.logs.length === linesAtOnce
    }
  }
  const onStatus = (revision: Revision) => report.status(revision)
  const revision = await followRevision(api, { deploymentId, revisionId }, { onStatus, onLook: showLog })
  const { source_config } = await api.send<Deployment>("GET", `/v2/deployments/${deploymentId}`)
  const status = revision?.status ?? null
  report.result({ deployment_id: deploymentId, revision_id: revisionId, status, url: source_config.custom_url })
  if (status === "DEPLOYED" || status === "SKIPPED") return
  if (status === "BUILD_FAILED" && !verbose) {
    const { logs } = await readBuildLog(api, { deploymentId, revisionId, order: "desc", limit: lastLines })
    for (const line of logs.toReversed()) show(line)
  }
  const reason = revision?.status_message ?? `the revision ended as ${status}`
  throw new NotDeployed(withoutEnd(reason, shown), revision?.error_code)
}

/** A reason without the log's last lines at its end (`  <line>`), which the reader has already seen. */
function withoutEnd(reason: string, shown: readonly string[]): string {
  const seen = new Set(shown.map((line) => `  ${line}`))
  const lines = reason.split("\n")
  return lines.slice(0, lines.findLastIndex((line) => !seen.has(line)) + 1).join("\n")
}

interface LogPage {
  readonly logs: readonly LogLine[]
  readonly next_offset: string | null
}

const readBuildLog = (
  api: PlatformApi,
  { deploymentId, revisionId, ...body }: { deploymentId: string; revisionId: string; [asked: string]: unknown },
): Promise<LogPage> => api.send("POST", `/v1/projects/${deploymentId}/revisions/${revisionId}/build_logs`, { body })

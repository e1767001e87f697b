/** Shows a revision's progress: each status as it changes, one line on a terminal. */
import type { Output } from "../output/output.js"
import { seconds } from "../output/progress.js"
import type { PlatformApi } from "../platform/api.js"
import { type Deployment, followRevision, type Revision } from "../platform/deployments.js"

interface Shown {
  readonly api: PlatformApi
  readonly deployment: Deployment
  readonly signal: AbortSignal
}

/** @returns  the revision when it has ended; undefined when the signal came first */
export async function showRevision(err: Output, { api, deployment, signal }: Shown): Promise<Revision | undefined> {
  const startedAt = performance.now()
  let isFirst = true
  let shown: string | undefined
  const onStatus = ({ status }: Revision) => {
    if (status === shown) return
    shown = status
    // Deployed before: there is no progress to show.
    if (isFirst && status === "DEPLOYED") return
    err.write(isFirst ? `  deploying the example ${err.style("bold", deployment.name)}: ` : err.style("dim", " → "))
    err.write(colored(err, status))
    isFirst = false
  }
  const { id: deploymentId, latest_revision_id: revisionId } = deployment
  if (revisionId === null) return undefined
  const revision = await followRevision(api, { deploymentId, revisionId }, { signal, onStatus })
  if (!isFirst) err.line(err.style("dim", `  ${seconds(performance.now() - startedAt)}\n`))
  if (revision?.status.includes("FAILED"))
    err.line(`  ${err.style("red", "✖")} ${revision.status_message ?? revision.status}`)
  return revision
}

function colored(err: Output, status: string): string {
  if (status === "DEPLOYED") return err.style("green", status)
  return status.includes("FAILED") ? err.style("red", status) : err.style("dim", status)
}

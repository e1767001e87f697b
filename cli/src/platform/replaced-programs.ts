/** Finds agents whose release was replaced or removed, and redeploys them with this release. */
import { join } from "node:path"
import { deploymentById } from "@superstep/control/deployments/carried-queries"
import { machineFolders } from "@superstep/machines/parts/files/folders"
import { replacedProgram } from "@superstep/machines/process/units/unit-program"
import type { Db } from "@superstep/toolkit/db/database"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { agentsOf } from "../home/agents.js"
import type { Home } from "../home/home.js"
import { type PlatformApi, platformApi } from "./api.js"
import { type Deployment, followRevision } from "./deployments.js"

/**
 * @param environment  of this process
 * @returns  the ids of deployments whose units can no longer start a worker of their own release
 */
export async function deploymentsOnReplacedPrograms(home: Home, environment: NodeJS.ProcessEnv): Promise<string[]> {
  const { units } = machineFolders(home.folder)
  const running = await agentsOf(home, environment).running()
  const replaced = await Promise.all(running.map((unitId) => replacedProgram(join(units, unitId))))
  return [...new Set(replaced.flatMap((program) => program?.deploymentId ?? []))]
}

interface Renewal {
  readonly home: Home
  /** Of this process. */
  readonly environment: NodeJS.ProcessEnv
  readonly db: Db
  /** The address of the API, and a key for all workspaces. */
  readonly url: string
  readonly apiKey: string
  readonly signal: AbortSignal
  readonly warn: (words: string) => void
}

/**
 * Redeploys each from its present artifact, one at a time: the new unit takes over before the old one drains, so no stream
 * is cut. A failure leaves the old unit serving.
 */
export async function renewPrograms(renewal: Renewal): Promise<void> {
  const { home, environment, db, url, apiKey, signal, warn } = renewal
  for (const id of await deploymentsOnReplacedPrograms(home, environment)) {
    const workspaceId = (await deploymentById(db, id))?.workspace_id
    if (signal.aborted || workspaceId === undefined) continue
    await renew(id, platformApi({ url, apiKey, workspaceId }), renewal).catch((error: unknown) => {
      if (!(error instanceof KnownError)) throw error
      warn(
        `the agent ${id} uses program files that were replaced or removed, and could not be redeployed: ${error.message}`,
      )
    })
  }
}

async function renew(id: string, api: PlatformApi, { signal, warn }: Renewal): Promise<void> {
  const { name, latest_revision_id, active_revision_id } = await api.send<Deployment>("GET", `/v2/deployments/${id}`)
  // A later revision has this release's files, or failed: it must not be undone here.
  if (!active_revision_id || latest_revision_id !== active_revision_id) {
    return warn(`${name} uses program files that were replaced or removed: its next revision will use this release`)
  }
  const path = `/v2/deployments/${id}/revisions/${active_revision_id}/redeploy`
  const { latest_revision_id: revisionId } = await api.send<Deployment>("POST", path)
  if (revisionId === null) return
  const revision = await followRevision(api, { deploymentId: id, revisionId }, { signal, onStatus: () => undefined })
  if (revision?.status === "DEPLOYED")
    warn(`${name} used program files that were replaced or removed: redeployed with this release`)
  else if (revision) warn(`${name} could not be redeployed: ${revision.status_message ?? revision.status}`)
}

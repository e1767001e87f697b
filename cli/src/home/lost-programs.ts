/** Agents that run from files of a release that was replaced or removed, and giving them those of this one. */
import { join } from "node:path"
import { foldersOf } from "@superstep/control/pipeline/folders"
import { deploymentById } from "@superstep/control/pipeline/queries"
import { lostProgram } from "@superstep/control/runtimes/unit-program"
import type { Db } from "@superstep/toolkit/db/database"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { type PlatformApi, platformApi } from "../platform/api.js"
import { type Deployment, followRevision } from "../platform/deployments.js"
import { agentsOf } from "./agents.js"
import type { Home } from "./home.js"

/** @returns the ids of deployments whose units cannot start a worker of their own release any more */
export async function deploymentsOnLostPrograms(home: Home): Promise<string[]> {
  const { units } = foldersOf(home.folder)
  const running = await agentsOf(home).running()
  const lost = await Promise.all(running.map((unitId) => lostProgram(join(units, unitId))))
  return [...new Set(lost.flatMap((program) => program?.deploymentId ?? []))]
}

interface Renewal {
  readonly home: Home
  readonly db: Db
  /** Where the API is, and a key for all workspaces. */
  readonly url: string
  readonly apiKey: string
  readonly signal: AbortSignal
  readonly tell: (words: string) => void
}

/**
 * Deploys each anew from the artefact it has, one after the other: the new unit takes over before the old one drains, so
 * no stream is cut. A failure leaves the old unit serving.
 */
export async function renewPrograms(renewal: Renewal): Promise<void> {
  const { home, db, url, apiKey, signal, tell } = renewal
  for (const id of await deploymentsOnLostPrograms(home)) {
    const workspaceId = (await deploymentById(db, id))?.workspace_id
    if (signal.aborted || workspaceId === undefined) continue
    await renew(id, platformApi({ url, apiKey, workspaceId }), renewal).catch((error: unknown) => {
      if (!(error instanceof KnownError)) throw error
      tell(`the agent ${id} runs files that were replaced or removed, and was not renewed: ${error.message}`)
    })
  }
}

async function renew(id: string, api: PlatformApi, { signal, tell }: Renewal): Promise<void> {
  const { name, latest_revision_id, active_revision_id } = await api.send<Deployment>("GET", `/v2/deployments/${id}`)
  // What was asked for after it comes with this release's files, or failed: it is not for us to undo that.
  if (!active_revision_id || latest_revision_id !== active_revision_id) {
    return tell(`${name} runs files that were replaced or removed: its next revision gets those of this release`)
  }
  const path = `/v2/deployments/${id}/revisions/${active_revision_id}/redeploy`
  const { latest_revision_id: revisionId } = await api.send<Deployment>("POST", path)
  if (revisionId === null) return
  const revision = await followRevision(api, { deploymentId: id, revisionId }, { signal, onStatus: () => undefined })
  if (revision?.status === "DEPLOYED")
    tell(`${name} ran files that were replaced or removed: it has those of this release`)
  else if (revision) tell(`${name} cannot be renewed: ${revision.status_message ?? revision.status}`)
}

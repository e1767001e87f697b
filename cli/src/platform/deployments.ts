/** Finds deployments and revisions by their names. */
import { setTimeout as sleep } from "node:timers/promises"
import type { ErrorCode } from "@superstep/toolkit/errors/codes"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { FolderCommit } from "../project/commit.js"
import { isAway, type PlatformApi, PlatformRefused } from "./api.js"

export interface Deployment {
  readonly id: string
  readonly name: string
  readonly source: string
  readonly status: string
  readonly updated_at: string
  readonly latest_revision_id: string | null
  readonly active_revision_id: string | null
  /** What a caller would get now, such as `healthy` or `down`; null when no revision serves. */
  readonly health: string | null
  /** A restart has not replaced all agent servers yet. */
  readonly is_restarting: boolean
  /** Contains the public address of the agent server (decisions, "Names and settings"). */
  readonly source_config: { readonly custom_url: string | null; readonly repo_url?: string | null }
}

export interface Revision {
  readonly id: string
  readonly status: string
  /** One that `docs/errors.md` explains, unless the platform is newer than this command. */
  readonly error_code: ErrorCode | null
  readonly status_message: string | null
  readonly trigger: string
  /** What it is for; null when nobody said. */
  readonly message: string | null
  readonly commit: FolderCommit | null
  /** The uploaded archive that it is made from. */
  readonly upload: { readonly sha256: string } | null
  /** The revision that a redeploy or rollback repeats. */
  readonly repeats_revision_id: string | null
  readonly created_at: string
  readonly finished_at: string | null
  readonly source_revision_config: { readonly repo_ref: string | null; readonly repo_commit_sha: string | null }
  /** Number of threads that it keeps after another revision took over. */
  readonly pinned_threads: number
  /** What it gets of the threads; null when it gets none but those. */
  readonly traffic: { readonly weight: number } | null
}

/** A deployed revision that gets some of the threads beside the one that serves. One that is being rolled out has a share, too. */
export const isCanary = (
  { id, status, traffic }: Pick<Revision, "id" | "status" | "traffic">,
  { active_revision_id }: Pick<Deployment, "active_revision_id">,
): boolean => status === "DEPLOYED" && traffic !== null && id !== active_revision_id

interface Page<T> {
  readonly resources: readonly T[]
  readonly offset: number
}

export class NoSuchDeployment extends KnownError {
  readonly code = "no_such_deployment"
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const largestPage = 100

/** @returns  undefined when the workspace has none of that name */
export async function lookUpDeployment(api: PlatformApi, name: string): Promise<Deployment | undefined> {
  const query = new URLSearchParams({ name_contains: name, limit: "20" })
  // Exact matches come first (decisions, "Control plane" 6).
  const { resources } = await api.send<Page<Deployment>>("GET", `/v2/deployments?${query}`)
  return resources.find((deployment) => deployment.name === name)
}

/** @throws NoSuchDeployment  listing the existing ones */
export async function findDeployment(api: PlatformApi, nameOrId: string): Promise<Deployment> {
  const found = uuid.test(nameOrId)
    ? await orNone(api.send<Deployment>("GET", `/v2/deployments/${nameOrId}`))
    : await lookUpDeployment(api, nameOrId)
  if (found) return found
  const names = (await listDeployments(api)).map(({ name }) => name)
  const there =
    names.length === 0 ? "there are none yet: create one with superstep deploy" : `there are ${names.join(", ")}`
  throw new NoSuchDeployment(`there is no deployment ${nameOrId}; ${there}`)
}

/** All deployments of the workspace, newest first. */
export const listDeployments = (api: PlatformApi, nameContains?: string): Promise<Deployment[]> =>
  allOf<Deployment>(api, "/v2/deployments", nameContains === undefined ? {} : { name_contains: nameContains })

/** The newest revisions first. */
export const listRevisions = async (api: PlatformApi, { id }: Deployment, limit: number): Promise<Revision[]> =>
  allOf<Revision>(api, `/v2/deployments/${id}/revisions`, {}, limit)

async function allOf<T>(
  api: PlatformApi,
  path: string,
  filter: Readonly<Record<string, string>>,
  most = Number.POSITIVE_INFINITY,
): Promise<T[]> {
  const all: T[] = []
  for (let offset = 0; all.length < most; ) {
    const limit = Math.min(largestPage, most - all.length)
    const query = new URLSearchParams({ ...filter, limit: String(limit), offset: String(offset) })
    const page = await api.send<Page<T>>("GET", `${path}?${query}`)
    all.push(...page.resources)
    if (page.resources.length < limit) break
    offset = page.offset
  }
  return all
}

const readRevision = (api: PlatformApi, deploymentId: string, revisionId: string): Promise<Revision> =>
  api.send("GET", `/v2/deployments/${deploymentId}/revisions/${revisionId}`)

/** @returns  undefined also when it was deleted meanwhile */
export async function newestRevision(api: PlatformApi, deployment: Deployment): Promise<Revision | undefined> {
  const { id, latest_revision_id: newest } = deployment
  return newest === null ? undefined : orNone(readRevision(api, id, newest))
}

/** @returns undefined for a 404 */
export async function orNone<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply
  } catch (error) {
    if (error instanceof PlatformRefused && error.status === 404) return undefined
    throw error
  }
}

/** Statuses after which nothing more happens to a revision (control-plane §1.5). */
export const isFinal = (status: string): boolean => /^(DEPLOYED|SKIPPED|INTERRUPTED)$|FAILED/.test(status)

const pollMs = 200
// A control plane that was killed or is upgraded answers again within seconds, and the revision goes on meanwhile.
const awayMs = 60_000

export interface Following {
  readonly signal?: AbortSignal
  /** Called with each new status, including the first, and with each new message, such as what it waits for. */
  readonly onStatus: (revision: Revision) => void
  /** Called at each poll, for callers that show more than statuses. */
  readonly onLook?: (revision: Revision) => Promise<void>
}

/**
 * Follows a revision to its end, also through a restart of the platform.
 * @returns  the revision when it has ended; undefined when the signal came first
 * @throws PlatformAway  when there was no answer for a minute
 */
export async function followRevision(
  api: PlatformApi,
  { deploymentId, revisionId }: { deploymentId: string; revisionId: string },
  { signal, onStatus, onLook }: Following,
): Promise<Revision | undefined> {
  let answeredAt = performance.now()
  for (let seen: string | undefined; signal?.aborted !== true; await sleep(pollMs)) {
    try {
      const revision = await readRevision(api, deploymentId, revisionId)
      answeredAt = performance.now()
      const now = `${revision.status} ${revision.status_message ?? ""}`
      if (now !== seen) onStatus(revision)
      seen = now
      await onLook?.(revision)
      if (isFinal(revision.status)) return revision
    } catch (error) {
      if (!isAway(error) || performance.now() - answeredAt > awayMs) throw error
    }
  }
  return undefined
}

/** Defines a revision: its statuses, its stages, and their order. Pure. */
import { type StorableText, storableText } from "@superstep/toolkit/text/storable"
import type { RevisionCodes } from "./error-codes.js"

export const revisionStatuses = [
  "CREATING",
  "QUEUED",
  "AWAITING_BUILD",
  "BUILDING",
  "AWAITING_DEPLOY",
  "DEPLOYING",
  "CREATE_FAILED",
  "BUILD_FAILED",
  "DEPLOY_FAILED",
  "DEPLOYED",
  "SKIPPED",
  "INTERRUPTED",
  "UNKNOWN",
] as const
export type RevisionStatus = (typeof revisionStatuses)[number]

/** The pipeline's stages in their order; each is idempotent, leased and resumable. */
export const stages = ["queue", "fetch", "build", "deploy", "switch", "verify"] as const
export type Stage = (typeof stages)[number]

export type Trigger = "create" | "patch" | "api" | "push" | "redeploy" | "rollback" | "preview"

/**
 * What a revision's units are for (README.md). `starting`: they start, and get neither requests nor runs. `serving`: they get both; at most
 * one revision of a deployment serves. `standby`: they served before; they finish what they have, and get requests that no serving unit
 * can take. `canary`: they execute the runs of a percentage of the threads; at most one revision of a deployment is one. `pinned`: they execute the runs of threads that are pinned to the revision, and are stopped while there are none. `retiring`:
 * they finish what they have, and end.
 */
export type Role = "starting" | "serving" | "standby" | "canary" | "pinned" | "retiring"

const finalStatuses: ReadonlySet<RevisionStatus> = new Set([
  "CREATE_FAILED",
  "BUILD_FAILED",
  "DEPLOY_FAILED",
  "DEPLOYED",
  "SKIPPED",
  "INTERRUPTED",
])

/** A final status never changes; DEPLOYED stays when a newer revision takes over (control-plane §1.5). */
export const isFinal = (status: RevisionStatus): boolean => finalStatuses.has(status)

/** The status after a failure in this stage (control-plane §6.3, rule 4). */
export function failedStatus(stage: Stage): "CREATE_FAILED" | "BUILD_FAILED" | "DEPLOY_FAILED" {
  if (stage === "queue") return "CREATE_FAILED"
  return stage === "fetch" || stage === "build" ? "BUILD_FAILED" : "DEPLOY_FAILED"
}

/** Why a revision failed, as a code. The edge replies with `capacity` too, and every server with `internal`. */
export type ErrorCode = keyof RevisionCodes | "capacity" | "internal"

/** What a repository says of a commit. */
export interface Commit {
  readonly sha: string
  readonly message: StorableText
  readonly author: StorableText
}

/** Why a revision failed, or was rolled back. */
export interface Reason {
  readonly code: ErrorCode
  readonly message: StorableText
}

// People read it, and it is in each list of revisions, in events and in statuses at git hosts.
const mostMessageCharacters = 10_000

/** A message that may quote megabytes of a project, as it is stored. */
export const shownMessage = (message: string): StorableText => storableText(message, mostMessageCharacters)

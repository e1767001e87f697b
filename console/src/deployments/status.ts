/** What the statuses of deployments and revisions mean to people: a word and a tone. Pure. */
import type { Tone } from "../frame/badge.js"
import type { Deployment, Health, Revision } from "../platform/types.js"

export interface Shown {
  readonly word: string
  readonly tone: Tone
  /** Whether it changes by itself soon. */
  readonly isMoving?: boolean
}

const healths: Readonly<Record<Health, Shown>> = {
  healthy: { word: "Healthy", tone: "good" },
  crashing: { word: "Crashing", tone: "bad" },
  starting: { word: "Starting", tone: "busy", isMoving: true },
  down: { word: "Down", tone: "bad" },
  asleep: { word: "Asleep", tone: "idle" },
  paused: { word: "Paused", tone: "idle" },
}

/** What a caller of the deployment would get now. Without a revision that serves, how far its first one is. */
export function shownDeployment({ health, status }: Pick<Deployment, "health" | "status">): Shown {
  if (health !== null) return healths[health]
  if (status === "AWAITING_DELETE") return { word: "Being deleted", tone: "idle", isMoving: true }
  if (status === "AWAITING_DATABASE") return { word: "Preparing", tone: "busy", isMoving: true }
  return { word: "Not deployed", tone: "idle" }
}

const revisionStatuses: Readonly<Record<string, Shown>> = {
  CREATING: { word: "Creating", tone: "busy", isMoving: true },
  QUEUED: { word: "Queued", tone: "busy", isMoving: true },
  AWAITING_BUILD: { word: "Fetching", tone: "busy", isMoving: true },
  BUILDING: { word: "Building", tone: "busy", isMoving: true },
  AWAITING_DEPLOY: { word: "Built", tone: "busy", isMoving: true },
  DEPLOYING: { word: "Deploying", tone: "busy", isMoving: true },
  CREATE_FAILED: { word: "Not created", tone: "bad" },
  BUILD_FAILED: { word: "Build failed", tone: "bad" },
  DEPLOY_FAILED: { word: "Deploy failed", tone: "bad" },
  SKIPPED: { word: "Skipped", tone: "idle" },
  INTERRUPTED: { word: "Interrupted", tone: "idle" },
}

/** A revision that was deployed is serving, a canary, or a former one. One whose processes crash is shown as that, also while it serves. */
export function shownRevision(
  { id, status, traffic, error_code, health }: Pick<Revision, "id" | "status" | "traffic" | "error_code" | "health">,
  activeId: string | null,
): Shown {
  if (status !== "DEPLOYED") return revisionStatuses[status] ?? { word: status, tone: "idle" }
  if ((id === activeId || traffic !== null) && (health === "crashing" || health === "down")) return healths[health]
  if (id === activeId) return { word: "Serving", tone: "good" }
  if (traffic !== null) return { word: "Canary", tone: "warn" }
  // It served, and then the platform took it out of service.
  if (error_code !== null) return { word: error_code === "crash_loop" ? "Crashed" : "Withdrawn", tone: "bad" }
  return { word: "Deployed before", tone: "idle" }
}

export interface Reason {
  /** What happened and what to do next. */
  readonly sentence: string
  /** The last lines of the log. */
  readonly lines: readonly string[]
}

const uuid = /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g

/** @param message  a status message: a sentence, then indented lines of the log */
export function reasonOf(message: string | null): Reason | undefined {
  if (message === null || message.trim() === "") return undefined
  const all = message.split("\n")
  const first = all.findIndex((line, index) => index > 0 && line.startsWith("  "))
  const end = first < 0 ? all.length : first
  const sentence = all.slice(0, end).join(" ").replaceAll(uuid, shortId)
  return {
    sentence: sentence.charAt(0).toUpperCase() + sentence.slice(1),
    lines: all.slice(end).map((line) => line.replace(/^ {2}/, "")),
  }
}

const triggers: Readonly<Record<string, string>> = {
  create: "first deployment",
  patch: "settings changed",
  api: "by request",
  push: "pushed",
  redeploy: "redeployed from",
  rollback: "rolled back to",
  preview: "pull request",
}

/** @param isUpload  it came with new uploaded code, which a client sends as a change of the deployment */
export const triggerText = (trigger: string, isUpload = false): string =>
  isUpload && (trigger === "patch" || trigger === "create") ? "uploaded" : (triggers[trigger] ?? trigger)

/** What a revision is for: in the words of its caller, else of its commit. */
export const titleOf = ({ message, commit }: Pick<Revision, "message" | "commit">): string | undefined =>
  message || commit?.message || undefined

export const shortId = (id: string): string => id.replaceAll("-", "").slice(-8)

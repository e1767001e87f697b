/** Defines a preview, and decides its next step. Pure. */
import { withoutEnd } from "@superstep/toolkit/text/without-end"

export const previewStates = ["awaiting_approval", "waiting", "active", "failed", "closed", "expired"] as const
export type PreviewState = (typeof previewStates)[number]

/** Whether its pull request is open, as far as we know. */
export const isOpen = (state: PreviewState): boolean => state !== "closed" && state !== "expired"

export interface PreviewSettings {
  readonly is_enabled: boolean
  /** Limit at a time, for all pull requests of the repository. */
  readonly max_previews: number
  readonly ttl_days: number
  /** On a fork's pull request, this label approves the newest commit at that time. */
  readonly approve_label: string
}

export const defaultSettings: PreviewSettings = {
  is_enabled: true,
  max_previews: 5,
  ttl_days: 7,
  approve_label: "preview",
}

export interface Preview {
  readonly preview_id: string
  readonly workspace_id: string
  readonly parent_id: string | null
  readonly repository: string
  readonly number: number
  readonly title: string
  readonly is_fork: boolean
  readonly head_ref: string | null
  readonly head_sha: string | null
  readonly approved_sha: string | null
  readonly state: PreviewState
  readonly reason: string | null
  readonly deployment_id: string | null
  readonly pushed_at: Date
  readonly expires_at: Date
  readonly created_at: Date
  readonly updated_at: Date
}

const maxNameLength = 63

/** `shop-bot-pr-7`; the parent's name is cut, never the number. */
export function previewName(parent: string, number: number): string {
  const suffix = `-pr-${number}`
  return `${withoutEnd(parent.slice(0, maxNameLength - suffix.length), "-")}${suffix}`
}

export type PreviewStep =
  | { readonly kind: "deploy" }
  | { readonly kind: "hold"; readonly state: "awaiting_approval" | "waiting" | "failed"; readonly reason: string }

/**
 * The next step for an open pull request.
 * @param others  number of the repository's other previews that have a deployment
 */
export function nextStep(
  preview: Pick<Preview, "is_fork" | "head_ref" | "head_sha" | "approved_sha">,
  { others, hasDeployment, settings }: { others: number; hasDeployment: boolean; settings: PreviewSettings },
): PreviewStep {
  const hold = (state: "awaiting_approval" | "waiting" | "failed", reason: string): PreviewStep => ({
    kind: "hold",
    state,
    reason,
  })
  if (preview.head_ref === null)
    return hold("failed", "the git host does not provide the fork's commits in this repository")
  if (preview.is_fork && (preview.head_sha === null || preview.approved_sha !== preview.head_sha)) {
    return hold("awaiting_approval", "the pull request comes from a fork: its newest commit must be approved")
  }
  if (!hasDeployment && others >= settings.max_previews) {
    return hold("waiting", `the repository has ${others} previews, the maximum: this one starts when one of them ends`)
  }
  return { kind: "deploy" }
}

/** What a preview is, and what is to become of it. Pure. */

export const previewStates = ["awaiting_approval", "waiting", "active", "failed", "closed", "expired"] as const
export type PreviewState = (typeof previewStates)[number]

/** Its pull request is open, as far as we know. */
export const isOpen = (state: PreviewState): boolean => state !== "closed" && state !== "expired"

export interface PreviewSettings {
  readonly is_enabled: boolean
  /** At a time, for all pull requests of the repository. */
  readonly max_previews: number
  readonly ttl_days: number
  /** On a fork's pull request it approves the commit that it is put on. */
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
  return `${parent.slice(0, maxNameLength - suffix.length).replace(/-+$/, "")}${suffix}`
}

export type PreviewStep =
  | { readonly kind: "deploy" }
  | { readonly kind: "hold"; readonly state: "awaiting_approval" | "waiting" | "failed"; readonly reason: string }

/**
 * What to do about an open pull request.
 * @param others  previews of the repository that have a deployment, this one not counted
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
  if (preview.head_ref === null) return hold("failed", "the host keeps a fork's commits in the fork only")
  if (preview.is_fork && (preview.head_sha === null || preview.approved_sha !== preview.head_sha)) {
    return hold("awaiting_approval", "it comes from a fork: somebody has to approve its newest commit")
  }
  if (!hasDeployment && others >= settings.max_previews) {
    return hold("waiting", `${others} previews of the repository are there: it begins when one of them has gone`)
  }
  return { kind: "deploy" }
}

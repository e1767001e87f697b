/** The events of git hosts, in one form for all hosts. Pure. */

export const providers = ["github", "gitlab", "gitea", "bitbucket"] as const
/** The API of a host. Forgejo and Codeberg use Gitea's. */
export type Provider = (typeof providers)[number]

/** A branch or tag was moved, created or deleted. */
export interface Push {
  readonly kind: "push"
  /** Every address that the host has for the repository. */
  readonly repositories: readonly string[]
  /** `refs/heads/main` or `refs/tags/v1`. */
  readonly ref: string
  /** Null when the ref was deleted. */
  readonly after: string | null
  readonly isCreated: boolean
  /** The number of pushed commits; undefined where the host does not report it. */
  readonly commits: number | undefined
  /** Message of the newest commit. */
  readonly message: string
  /** Files changed by its commits; undefined when the host does not report all of them. */
  readonly changedPaths: readonly string[] | undefined
}

/** An event of a pull request (GitLab: merge request). */
export interface PullRequestEvent {
  readonly kind: "pull_request"
  readonly repositories: readonly string[]
  readonly number: number
  readonly title: string
  /** `changed`: opened, reopened, or a push to it. */
  readonly action: "changed" | "closed" | "labeled"
  /** The labels that were just added. */
  readonly labels: readonly string[]
  /** The host reports all present labels, but not which of them is new. */
  readonly areLabelsAll: boolean
  readonly baseBranch: string
  /** The ref of the newest commit in the base repository, such as `refs/pull/7/head`; undefined when there is none. */
  readonly headRef: string | undefined
  /** A full commit id; undefined where the host shortens it. */
  readonly headSha: string | undefined
  /** Its code comes from a repository that others may write to. */
  readonly isFork: boolean
}

/** An event without effect here, such as a ping. */
export interface OtherEvent {
  readonly kind: "other"
  readonly what: string
}

export type GitEvent = Push | PullRequestEvent | OtherEvent

/** The outcome of an event for one deployment. */
export interface Outcome {
  readonly deployment_id: string
  readonly name: string
  readonly result: "accepted" | "ignored"
  /** The reason, for readers of the host's list of deliveries. */
  readonly detail: string
  readonly revision_id: string | null
}

const wellKnown: ReadonlyMap<string, Provider> = new Map([
  ["github.com", "github"],
  ["gitlab.com", "gitlab"],
  ["codeberg.org", "gitea"],
  ["gitea.com", "gitea"],
  ["bitbucket.org", "bitbucket"],
])

/** The provider of a well-known host; for other hosts it must be set. */
export const providerOfHost = (host: string): Provider | undefined => wellKnown.get(host)

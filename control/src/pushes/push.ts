/** What git hosts tell us, in one form for all of them. Pure. */

export const providers = ["github", "gitlab", "gitea", "bitbucket"] as const
/** How a host speaks. Forgejo and Codeberg speak as Gitea. */
export type Provider = (typeof providers)[number]

/** A branch or tag was moved, made or removed. */
export interface Push {
  readonly kind: "push"
  /** Every address that the host has for the repository. */
  readonly repositories: readonly string[]
  /** `refs/heads/main` or `refs/tags/v1`. */
  readonly ref: string
  /** Null when the ref was removed. */
  readonly after: string | null
  readonly isCreated: boolean
  /** How many commits came with it; undefined where the host does not tell. */
  readonly commits: number | undefined
  /** Of the newest commit. */
  readonly message: string
  /** Files that its commits touch; undefined when the host does not tell all of them. */
  readonly changedPaths: readonly string[] | undefined
}

/** Something happened to a pull request (GitLab: merge request). */
export interface PullRequestEvent {
  readonly kind: "pull_request"
  readonly repositories: readonly string[]
  readonly number: number
  readonly title: string
  /** `changed`: opened, reopened, or a push to it. */
  readonly action: "changed" | "closed" | "labeled"
  /** The labels that were added now. */
  readonly labels: readonly string[]
  /** The host tells all labels that are there, but not which of them is new. */
  readonly areLabelsAll: boolean
  readonly baseBranch: string
  /** Where the base repository keeps the newest commit, such as `refs/pull/7/head`; undefined when it keeps it nowhere. */
  readonly headRef: string | undefined
  /** A full commit id; undefined where the host shortens it. */
  readonly headSha: string | undefined
  /** Its code comes from a repository that others may write to. */
  readonly isFork: boolean
}

/** What is of no use to us, such as a ping. */
export interface OtherEvent {
  readonly kind: "other"
  readonly what: string
}

export type GitEvent = Push | PullRequestEvent | OtherEvent

/** What became of an event for one deployment. */
export interface Outcome {
  readonly deployment_id: string
  readonly name: string
  readonly result: "accepted" | "ignored"
  /** Why, for whoever reads the host's list of deliveries. */
  readonly detail: string
  readonly revision_id: string | null
}

const wellKnown: Readonly<Record<string, Provider>> = {
  "github.com": "github",
  "gitlab.com": "gitlab",
  "codeberg.org": "gitea",
  "gitea.com": "gitea",
  "bitbucket.org": "bitbucket",
}

/** The provider that everybody knows of a host; others have to be told. */
export const providerOfHost = (host: string): Provider | undefined => wellKnown[host]

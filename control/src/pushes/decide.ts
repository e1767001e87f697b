/** Decides whether a deployment builds a push. Pure. */

import type { SourceConfig } from "../revisions/source-config.js"
import { isWatched } from "../revisions/watch-paths.js"
import type { Push } from "./push.js"

interface Ignored {
  readonly ignored: string
}

export type Decision = { readonly build: string } | Ignored

/** The branch that a deployment follows, as `refs/heads/…`; undefined for a tag or a commit, which do not move. */
export function watchedRef(repoRef: string | null): string | undefined {
  if (!repoRef || /^[0-9a-f]{40}$/.test(repoRef)) return undefined
  if (!repoRef.startsWith("refs/")) return `refs/heads/${repoRef}`
  return repoRef.startsWith("refs/heads/") ? repoRef : undefined
}

const skipMarker = /\[(skip ci|ci skip|skip deploy|deploy skip|no ci)\]/i

/** What of a deployment decides which pushes it builds. */
export interface Follower {
  readonly source_config: SourceConfig
  readonly repo_ref: string | null
}

/** Why a deployment builds no push to this branch; undefined: it builds them. */
function notFollowed({ source_config: config, repo_ref: repoRef }: Follower, ref: string): Ignored | undefined {
  const wanted = watchedRef(repoRef)
  if (!config.build_on_push) return { ignored: "build_on_push is off" }
  if (wanted === undefined) return { ignored: `the deployment follows ${repoRef}, which is not a branch` }
  return ref === wanted ? undefined : { ignored: `the deployment follows ${wanted}, but the push is to ${ref}` }
}

export const follows = (follower: Follower, ref: string): boolean => notFollowed(follower, ref) === undefined

/** The commit to build; or why the push is not built, for readers of the host's list of deliveries. */
export function decidePush(deployment: Follower, push: Push): Decision {
  const elsewhere = notFollowed(deployment, push.ref)
  if (elsewhere) return elsewhere
  if (push.after === null) return { ignored: "the branch was deleted" }
  if (push.isCreated && push.commits === 0) return { ignored: "the branch was created without a commit of its own" }
  const marker = skipMarker.exec(push.message)?.[0]
  if (marker) return { ignored: `the commit's message contains ${marker}` }
  return untouched(deployment.source_config.watch_paths ?? [], push) ?? { build: push.after }
}

function untouched(patterns: readonly string[], { changedPaths }: Push): Ignored | undefined {
  // Without a list of changed files, they may have been touched.
  if (patterns.length === 0 || changedPaths === undefined) return undefined
  return changedPaths.some((path) => isWatched(patterns, path))
    ? undefined
    : { ignored: `none of its ${changedPaths.length} changed files is in watch_paths` }
}

/**
 * Where a revision's code comes from. The pipeline calls `resolve` once and stores the commit with the revision, then
 * `fetch` as often as crashes make it: every fetch of one commit gives the same tree.
 */

import type { Secret } from "@superstep/toolkit/config/settings"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { ErrorCode } from "../revisions/revision.js"

/** What an integration gives: who to be on one host. */
export interface SourceCredentials {
  /** `github.com` or `git.example.org:3000`; no other host ever sees the token. */
  readonly host: string
  readonly username: string
  readonly token: Secret
}

export interface SourceLocation {
  readonly repoUrl: string
  /** A branch, `refs/tags/<tag>`, or a full commit id. */
  readonly ref: string
  readonly credentials?: SourceCredentials
}

export interface FetchedCommit {
  readonly sha: string
  /** The hash of the tree: two commits with equal content have the same. */
  readonly treeHash: string
  readonly message: string
  readonly author: string
}

export interface Source {
  /**
   * Turns a ref into a commit id.
   * @throws SourceFailed  `source_not_found`, `source_auth`, `ref_not_found`, `source_unsupported`
   */
  resolve(location: SourceLocation, signal: AbortSignal): Promise<string>
  /**
   * Puts the tree of a commit into `folder`, which holds nothing else afterwards: no repository, no credentials. What
   * an earlier, killed fetch left there is replaced; the folder appears under its name only when it is complete.
   * @throws SourceFailed
   */
  fetch(location: SourceLocation, sha: string, folder: string, signal: AbortSignal): Promise<FetchedCommit>
}

type SourceErrorCode = Extract<ErrorCode, "source_not_found" | "source_auth" | "ref_not_found" | "source_unsupported">

/** The code could not be had. `isTransient` tells a network's fault, worth another try, from a person's. */
export class SourceFailed extends KnownError {
  readonly code: SourceErrorCode
  readonly isTransient: boolean
  constructor(
    code: SourceErrorCode,
    message: string,
    { isTransient = false, ...options }: ErrorOptions & { isTransient?: boolean } = {},
  ) {
    super(message, options)
    this.code = code
    this.isTransient = isTransient
  }
}

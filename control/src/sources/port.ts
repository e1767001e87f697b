/**
 * Where a revision's code comes from. The pipeline calls `resolve` once and stores the id with the revision, then
 * `fetch` as often as crashes make it: every fetch of one id gives the same tree.
 */

import { KnownError } from "@superstep/toolkit/errors/errors"
import type { ErrorCode } from "../revisions/revision.js"

export interface Commit {
  readonly sha: string
  readonly message: string
  readonly author: string
}

export interface FetchedTree {
  /** The hash of the content: two trees with equal files have the same. */
  readonly treeHash: string
  /** Undefined when the code has no history. */
  readonly commit?: Commit
  /** What a reader of the build log should know, such as what was left out. */
  readonly notes?: readonly string[]
}

/** @typeParam Location  what a source has to know to find the code: an address and a ref, or a file */
export interface Source<Location> {
  /**
   * Tells exactly which content a location means now.
   * @returns a commit, or `sha256:…` of an archive
   * @throws SourceFailed  `source_not_found`, `source_auth`, `ref_not_found`, `source_unsupported`
   */
  resolve(location: Location, signal: AbortSignal): Promise<string>
  /**
   * Puts the tree of an id into `folder`, which holds nothing else afterwards: no repository, no credentials. What an
   * earlier, killed fetch left there is replaced; the folder appears under its name only when it is complete.
   * @throws SourceFailed  also `archive_invalid`, `archive_too_big`
   */
  fetch(location: Location, id: string, folder: string, signal: AbortSignal): Promise<FetchedTree>
}

type SourceErrorCode = Extract<
  ErrorCode,
  | "source_not_found"
  | "source_auth"
  | "ref_not_found"
  | "source_unsupported"
  | "archive_invalid"
  | "archive_too_big"
  | "disk_full"
>

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

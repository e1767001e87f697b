/**
 * Where a revision's code comes from. The pipeline calls `resolve` once and stores the id with the revision, and then calls
 * `fetch`, again after each crash: every fetch of one id gives the same tree.
 */

import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Commit, ErrorCode } from "../revisions/revision.js"

export interface FetchedTree {
  /** The hash of the content: two trees with equal files have the same. */
  readonly treeHash: string
  /** Undefined when the code has no history. */
  readonly commit?: Commit
  /** Notes for the build log, such as what was left out. */
  readonly notes?: readonly string[]
}

/** @typeParam Location  what a source needs to find the code: an address and a ref, or a file */
export interface Source<Location> {
  /**
   * Resolves a location to the exact content that it refers to now.
   * @returns  a commit, or `sha256:…` of an archive
   * @throws SourceFailed  `source_not_found`, `source_auth`, `ref_not_found`, `source_unsupported`
   */
  resolve(location: Location, signal: AbortSignal): Promise<string>
  /**
   * Puts the tree of an id into `folder`, which then contains nothing else: no repository, no credentials. Replaces what an
   * earlier, killed fetch left there; the folder appears under its name only when it is complete.
   * @throws SourceFailed  also `source_too_big`, `archive_invalid`, `archive_too_big`; nothing of it is left on disk
   */
  fetch(location: Location, id: string, folder: string, signal: AbortSignal): Promise<FetchedTree>
}

type SourceErrorCode = Extract<
  ErrorCode,
  | "source_not_found"
  | "source_auth"
  | "source_timeout"
  | "source_too_big"
  | "ref_not_found"
  | "source_unsupported"
  | "archive_invalid"
  | "archive_too_big"
  | "disk_full"
>

/** The code could not be fetched. `isTransient` distinguishes a network fault, worth a retry, from a user's fault. */
export class SourceFailed extends KnownError {
  readonly code: SourceErrorCode
  readonly isTransient: boolean
  /** For how long the host asks to be left alone, in milliseconds; 0 when it does not. */
  readonly askedMs: number
  constructor(
    code: SourceErrorCode,
    message: string,
    {
      isTransient = false,
      askedMs = 0,
      ...options
    }: ErrorOptions & { isTransient?: boolean; askedMs?: number | undefined } = {},
  ) {
    super(message, options)
    this.code = code
    this.isTransient = isTransient
    this.askedMs = askedMs
  }
}

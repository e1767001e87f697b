/** How much code a revision may have, from git or uploaded. */
export interface SourceLimits {
  /** Files and folders. */
  readonly entries: number
  /** All files together; from git, with the repository that is fetched. */
  readonly bytes: number
}

/** Far more than any project has without its packages, and little enough for a disk that others use too. */
export const sourceLimits: SourceLimits = { entries: 200_000, bytes: 4 * 1024 ** 3 }

/** Defines an upload: one archive of source code for one deployment, sent to an address of its own. Pure. */

export interface Upload {
  readonly upload_id: string
  readonly deployment_id: string
  readonly expires_at: Date
  /** Null until the archive is complete. */
  readonly stored_at: Date | null
  readonly sha256: string | null
  readonly size_bytes: number | null
  /** The transfer whose pieces are the archive. Null until it is complete. */
  readonly transfer_id: string | null
  /** When the archive was deleted. */
  readonly removed_at: Date | null
}

/** The limit of both CLIs (control-plane §2.2). */
export const maxArchiveBytes = 200 * 1024 * 1024

// The clients upload at once; their own limit is 300 s.
export const addressMs = 15 * 60_000

/** Limit of a deployment's archives that no revision uses yet. Each may be as large as `maxArchiveBytes`. */
export const maxUnused = 10

/** The name that clients put into `source_tarball_path`. */
export const objectPathOf = (deploymentId: string, uploadId: string): string => `${deploymentId}/${uploadId}.tar.gz`

const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
const objectPath = new RegExp(`^(${uuid})/(${uuid})\\.tar\\.gz$`)

/** @returns  undefined for a text that is not an `object_path` of ours */
export function parseObjectPath(text: string): { deploymentId: string; uploadId: string } | undefined {
  const [, deploymentId, uploadId] = objectPath.exec(text) ?? []
  return deploymentId && uploadId ? { deploymentId, uploadId } : undefined
}

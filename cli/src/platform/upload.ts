/** Hands an archive to the platform, the way the official CLIs do (control-plane §2.2, step 3R). */
import { openAsBlob } from "node:fs"
import { type PlatformApi, PlatformRefused } from "./api.js"

/** @returns the `source_tarball_path` of the revision to be */
export async function uploadArchive(api: PlatformApi, deploymentId: string, file: string): Promise<string> {
  const place = await api.send<{ upload_url: string; object_path: string }>(
    "POST",
    `/v2/deployments/${deploymentId}/upload-url`,
  )
  // The address itself is the permission; the key is not for it.
  const response = await fetch(place.upload_url, {
    method: "PUT",
    body: await openAsBlob(file),
    headers: { "content-type": "application/gzip", "x-goog-content-length-range": "0,209715200" },
  })
  if (!response.ok)
    throw new PlatformRefused(
      `the archive was not taken (${response.status}): ${await response.text()}`,
      response.status,
    )
  return place.object_path
}

/** Uploads an archive to the platform as the official CLIs do (control-plane §2.2, step 3R). */
import { openAsBlob } from "node:fs"
import { type PlatformApi, PlatformRefused } from "./api.js"

/** @returns  the `source_tarball_path` for the next revision */
export async function uploadArchive(api: PlatformApi, deploymentId: string, file: string): Promise<string> {
  const place = await api.send<{ upload_url: string; object_path: string }>(
    "POST",
    `/v2/deployments/${deploymentId}/upload-url`,
  )
  // The address itself grants the permission; the key must not be sent to it.
  const response = await fetch(place.upload_url, {
    method: "PUT",
    body: await openAsBlob(file),
    headers: { "content-type": "application/gzip", "x-goog-content-length-range": "0,209715200" },
  })
  if (!response.ok)
    throw new PlatformRefused(`the upload of the archive failed (${response.status}): ${await response.text()}`, {
      status: response.status,
    })
  return place.object_path
}

/** HTTP for uploads: the request for an address (control-plane §1.4), and the archive, which is sent to it without an API key. */

import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { Refused } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import type { Context } from "hono"
import { uuid } from "../http/fields.js"
import { answerOnce } from "../idempotency/idempotency.js"
import type { MasterKey } from "../secrets/seal.js"
import { offerUpload, takeArchive } from "../uploads/operations.js"
import { tooLarge } from "../uploads/receive.js"
import { checkSignature, signUpload } from "../uploads/signature.js"
import { maxArchiveBytes } from "../uploads/upload.js"
import { holdForChange } from "./hold.js"

export interface UploadRoutes {
  readonly db: Database
  readonly log: Log
  /** Signs the addresses. */
  readonly key: MasterKey
  /** Where a test kills this process. */
  readonly crashPoint?: (name: string) => void
  /** The public address of the API; without it, the address that the client used. */
  readonly publicUrl?: string | undefined
}

const prefix = "/_uploads/"

/** Archives are exempt from the limit for bodies: they are never held in memory, and have a limit of their own. */
export const isUpload = (path: string): boolean => path.startsWith(prefix) || path.startsWith(`/api-host${prefix}`)

export function addUploadRoutes(api: Api, options: UploadRoutes): void {
  addOffer(api, options)
  addReceive(api, options)
}

function addOffer(api: Api, { db, log, key, publicUrl }: UploadRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/v2/deployments/{deployment_id}/upload-url",
    summary:
      "Returns an address for uploading a .tar.gz of source code by PUT, and its object_path for a PATCH of the deployment.",
    params: z.object({ deployment_id: uuid }),
    responses: {
      200: {
        description: "valid for one archive of at most 200 MiB, for 15 minutes; send no API key to it",
        schema: z.object({ upload_url: z.string(), object_path: z.string() }),
      },
      400: { description: "the deployment runs ready-made images" },
      404: { description: "the workspace has no such deployment" },
      409: { description: "it is being deleted" },
      429: { description: "too many archives of the deployment are not used yet" },
    },
    handle: async ({ c, params }) => {
      const { workspaceId } = c.get("caller")
      return answerOnce(db, { c, bodyText: "", workspaceId }, async (tx) => {
        const deployment = await holdForChange(tx, { workspaceId, deploymentId: params.deployment_id })
        if (deployment.source === "external_docker") {
          throw new Refused("upload addresses are for source code, but this deployment runs ready-made images")
        }
        const { objectPath, expiresAt } = await offerUpload(tx, deployment.deployment_id)
        const query = signUpload(key, objectPath, Math.floor(expiresAt.getTime() / 1000))
        return {
          status: 200,
          body: { upload_url: `${baseOf(c, publicUrl)}${prefix}${objectPath}?${query}`, object_path: objectPath },
          committed: () => log.info({ deployment_id: deployment.deployment_id }, "upload address created"),
        }
      })
    },
  })
}

/** A client that uses a forwarded port or /api-host gets an address on the same way. */
function baseOf(c: Context, publicUrl: string | undefined): string {
  if (publicUrl) return withoutEnd(publicUrl, "/")
  return `${new URL(c.req.url).origin}${c.req.path.startsWith("/api-host/") ? "/api-host" : ""}`
}

function addReceive(api: Api, { db, log, key, crashPoint }: UploadRoutes): void {
  addRoute(api, {
    method: "put",
    path: `${prefix}{deployment_id}/{file}`,
    summary: "Uploads an archive to an address from upload-url.",
    params: z.object({ deployment_id: z.string(), file: z.string() }),
    query: z.object({ exp: z.string().default(""), sig: z.string().default("") }),
    responses: {
      200: { description: "stored", schema: z.object({ object_path: z.string(), sha256: z.string() }) },
      403: { description: "the signature of the address is invalid, or the address has expired" },
      404: { description: "its deployment does not exist any more" },
      409: { description: "an archive was uploaded to it already" },
      413: { description: "the archive is larger than 200 MiB" },
    },
    handle: async ({ c, params, query }) => {
      const objectPath = `${params.deployment_id}/${params.file}`
      checkSignature(key, { objectPath, ...query, now: Date.now() })
      if (Number(c.req.header("content-length") ?? 0) > maxArchiveBytes) throw tooLarge(maxArchiveBytes)
      const { sha256, sizeBytes } = await takeArchive(db, {
        objectPath,
        body: c.req.raw.body as never,
        crashPoint,
      })
      log.info({ deployment_id: params.deployment_id, size_bytes: sizeBytes }, "archive uploaded")
      return c.json({ object_path: objectPath, sha256 })
    },
  })
}

/** Requests to the control plane, with the session's cookie and the chosen workspace. */
import { jsonOf } from "../requests/api-error.js"

export interface PlatformRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** Sends requests for one workspace. */
export type PlatformApi = (path: string, request?: PlatformRequest) => Promise<Response>

export const platformApi =
  (workspaceId: string | undefined): PlatformApi =>
  (path, { method = "GET", body, signal } = {}) => {
    const headers = new Headers()
    if (workspaceId !== undefined) headers.set("x-tenant-id", workspaceId)
    if (body !== undefined) headers.set("content-type", "application/json")
    return fetch(path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  }

/** @throws ApiError  the status is not 2xx */
export async function callPlatform<Reply>(api: PlatformApi, path: string, request?: PlatformRequest): Promise<Reply> {
  return (await jsonOf(await api(path, request))) as Reply
}

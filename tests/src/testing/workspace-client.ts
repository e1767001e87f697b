/** Calls of the control plane's API in the words of tests. */
import type { Credentials, Platform } from "./platform.js"

/** Requests as the workspace's own client. */
export const apiOf =
  (credentials: Credentials): Platform["api"] =>
  async (method, path, body, headers = {}) => {
    const response = await fetch(`${credentials.url}${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        "x-api-key": credentials.api_key,
        "x-tenant-id": credentials.tenant_id,
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) }
  }

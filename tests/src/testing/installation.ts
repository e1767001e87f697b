/** What tests know of an installation, wherever it runs. */
import type { MachineOfTests } from "./machines/port.js"

export interface Credentials {
  readonly url: string
  readonly tenant_id: string
  readonly api_key: string
  readonly org_api_key: string
}

export interface Reply<T = unknown> {
  readonly status: number
  readonly headers: Headers
  readonly body: T
}

export interface Platform extends AsyncDisposable {
  readonly credentials: Credentials
  readonly agentsUrl: string
  /** Calls the control plane as the workspace's own client. */
  api<T = unknown>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply<T>>
  /** What it printed so far. */
  output(): string
  /** The process of the control plane in charge at this moment; undefined while there is none. */
  controlPid(): Promise<number | undefined>
  /** Where its agents run. */
  readonly machine: MachineOfTests
}

export interface PlatformOptions {
  /** Further settings of the platform. */
  readonly env?: Readonly<Record<string, string>>
}

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

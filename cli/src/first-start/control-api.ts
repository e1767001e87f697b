/** The few requests of the control plane's HTTP API that the first start makes, as any CI job would. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Credentials } from "../home/credentials.js"

export interface Deployment {
  readonly id: string
  readonly name: string
  readonly latest_revision_id: string | null
  /** The public address of the agent server is in it (decisions, "Names and settings"). */
  readonly source_config: { readonly custom_url: string | null }
}

export interface Revision {
  readonly id: string
  readonly status: string
  readonly status_message: string | null
}

export class ControlPlaneRefused extends KnownError {
  readonly code = "control_plane_refused"
}

export interface ControlApi {
  /** @param idempotencyKey  the same key makes it one deployment, however often it is sent */
  createDeployment(body: object, idempotencyKey: string): Promise<Deployment>
  /** @returns undefined when it is deleted */
  findDeployment(deploymentId: string): Promise<Deployment | undefined>
  readRevision(deploymentId: string, revisionId: string): Promise<Revision>
}

export function controlApi(credentials: Credentials): ControlApi {
  const request = async <T>(path: string, init: RequestInit = {}): Promise<T | undefined> => {
    const headers = {
      "x-api-key": credentials.api_key,
      "x-tenant-id": credentials.tenant_id,
      "content-type": "application/json",
      ...init.headers,
    }
    const response = await fetch(`${credentials.url}${path}`, { ...init, headers })
    if (response.status === 404) return undefined
    const text = await response.text()
    if (!response.ok)
      throw new ControlPlaneRefused(`${init.method ?? "GET"} ${path} answered ${response.status}: ${text}`)
    return JSON.parse(text) as T
  }
  const required = <T>(value: T | undefined, what: string): T => {
    if (value === undefined) throw new ControlPlaneRefused(`${what} is gone`)
    return value
  }
  return {
    createDeployment: async (body, idempotencyKey) => {
      const init = { method: "POST", body: JSON.stringify(body), headers: { "idempotency-key": idempotencyKey } }
      return required(await request<Deployment>("/v2/deployments", init), "the deployments' address")
    },
    findDeployment: (deploymentId) => request(`/v2/deployments/${deploymentId}`),
    readRevision: async (deploymentId, revisionId) =>
      required(await request<Revision>(`/v2/deployments/${deploymentId}/revisions/${revisionId}`), "the revision"),
  }
}

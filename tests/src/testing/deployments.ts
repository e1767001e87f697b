/** The control plane's client flow in the words of a test. */
import assert from "node:assert/strict"
import { fileURLToPath } from "node:url"
import { Client } from "@langchain/langgraph-sdk"
import { until } from "@superstep/toolkit/testing/until"
import type { Platform } from "./installation.js"
import { machineOfRun } from "./machines/machine-of-run.js"

export interface Deployment {
  readonly id: string
  readonly name: string
  readonly latest_revision_id: string
  readonly active_revision_id: string | null
  readonly source_config: { readonly custom_url: string }
}

export interface Revision {
  readonly id: string
  readonly status: string
  readonly error_code: string | null
  readonly status_message: string | null
}

/** What these functions need of an installation. */
export type Caller = Pick<Platform, "api" | "credentials" | "output">

/**
 * How a build gets the agent's packages. An install takes five seconds of processor time, so most tests link to ours. A link
 * leads nowhere in a container: there `linked` is the same as `installed`.
 */
export type Packages = "installed" | "linked"

const ourPackages = fileURLToPath(new URL("../../../node_modules", import.meta.url))

export const deploymentOf = (name: string, repoUrl: string, packages: Packages = "linked") => ({
  name,
  source: "github",
  source_config: {
    integration_id: null,
    repo_url: repoUrl,
    deployment_type: "dev",
    build_on_push: false,
    custom_url: null,
    resource_spec: null,
    ...(packages === "linked" &&
      machineOfRun === "process" && { install_command: `ln -s '${ourPackages}' node_modules` }),
  },
  source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json", image_uri: null },
  secrets: [],
})

/** Creates a deployment and waits until its first revision serves. */
export async function deploy(
  platform: Caller,
  name: string,
  repoUrl: string,
  secrets: readonly { name: string; value: string }[] = [],
  packages: Packages = "linked",
): Promise<Deployment> {
  const request = { ...deploymentOf(name, repoUrl, packages), secrets }
  const { status, body } = await platform.api<Deployment>("POST", "/v2/deployments", request)
  assert.equal(status, 201, JSON.stringify(body))
  await untilDeployed(platform, body.id, body.latest_revision_id)
  return (await platform.api<Deployment>("GET", `/v2/deployments/${body.id}`)).body
}

/** Asks for a new revision of the branch's head and gives its id, without waiting for it. */
export async function startRevision(platform: Caller, deploymentId: string, changes: object = {}): Promise<string> {
  const { status, body } = await platform.api<Deployment>("PATCH", `/v2/deployments/${deploymentId}`, {
    ...changes,
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
  })
  assert.equal(status, 200, JSON.stringify(body))
  return body.latest_revision_id
}

/** Waits for a revision's last status; a control plane that is down meanwhile is no answer, not a failure. */
export async function untilEnded(platform: Caller, deploymentId: string, revisionId: string): Promise<Revision> {
  const path = `/v2/deployments/${deploymentId}/revisions/${revisionId}`
  const ended = async () => {
    // Down meanwhile, as said above.
    const reply = await platform.api<Revision>("GET", path).catch(() => undefined)
    const isOver = reply?.status === 200 && /DEPLOYED|FAILED|SKIPPED|INTERRUPTED/.test(reply.body.status)
    return isOver ? reply.body : undefined
  }
  return until(ended, { what: "the revision to end", timeoutMs: 600_000 })
}

export async function untilDeployed(platform: Caller, deploymentId: string, revisionId: string): Promise<Revision> {
  const revision = await untilEnded(platform, deploymentId, revisionId)
  assert.equal(revision.status, "DEPLOYED", `${revision.error_code}: ${revision.status_message}\n${platform.output()}`)
  return revision
}

/** What the agent of the tests answers to the official client: its version, or what else it says. */
export async function versionOf(platform: Caller, deployment: Deployment): Promise<string> {
  const input = { messages: [{ role: "user", content: "hi" }] }
  const values = JSON.stringify(await clientOf(platform, deployment).runs.wait(null, "chat", { input }))
  return /hello from (\w+)/.exec(values)?.[1] ?? values
}

/** The official client, on a deployment's own address. */
export const clientOf = (platform: Caller, deployment: Deployment): Client =>
  new Client({
    apiUrl: deployment.source_config.custom_url,
    apiKey: platform.credentials.api_key,
    callerOptions: { maxRetries: 0 },
  })

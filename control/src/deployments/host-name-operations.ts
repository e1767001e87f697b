/** Adds, finds and removes host names of deployments (README.md, N1 to N5). */
import { X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, Forbidden, InvalidInput, NotFound, Refused } from "@superstep/toolkit/errors/errors"
import { canonicalHostName, type HostName, isLocalName } from "../host-names/host-name.js"
import { hostNameOf, hostNamesOf, insertHostName, removeHostName } from "../host-names/queries.js"
import type { QuotaRules } from "../quotas/operations.js"
import { nothing } from "../quotas/quota.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { type DeploymentIds, holdKept } from "./hold.js"
import { findDeployment } from "./operations.js"
import { requireQuota } from "./room.js"

export interface HostNameRules {
  /** Names under which callers reach the API and the agents: no deployment may take them. */
  readonly ownNames: ReadonlySet<string>
  /** The operator's certificate; only the operator gives away the names that it covers. */
  readonly certFile: string | undefined
  /** Whether a certificate authority verifies names. */
  readonly hasAuthority: boolean
}

/**
 * Adding a name that the deployment has already changes nothing.
 * @throws InvalidInput  it is no host name, or one of the platform's (N2)
 * @throws Refused       its agents are at a listener
 * @throws Forbidden     only the operator may add it (N3)
 * @throws Conflict      `host_name_taken`: it belongs to another deployment (N1); `quota_exceeded`
 */
export async function addHostName(
  tx: Db,
  rules: HostNameRules & QuotaRules,
  { isOperator, ...ids }: DeploymentIds & { readonly isOperator: boolean },
  wanted: string,
): Promise<{ readonly row: HostName; readonly isNew: boolean }> {
  const { listener } = await holdKept(tx, ids)
  if (listener)
    throw new Refused(`its agents are at the listener ${listener.compute_id}: add the name in that installation`)
  const hostName = checkedName(rules, wanted)
  const present = await hostNameOf(tx, ids.deploymentId, hostName)
  if (present) return { row: present, isNew: false }
  const isVerifiable = rules.hasAuthority && !(await isCovered(rules.certFile, hostName))
  if (!isVerifiable && !isOperator) {
    const words = "no certificate authority verifies that you may use this name"
    throw new Forbidden(
      `${words}: it must be added with a key of the installation (org_api_key in credentials.json)`,
      "operator_required",
    )
  }
  await requireQuota(tx, rules, ids.workspaceId, { ...nothing, host_names: 1 })
  const row = await insertHostName(tx, { hostName, deploymentId: ids.deploymentId, isVerified: !isVerifiable })
  if (!row) throw new Conflict(`${hostName} belongs to another deployment: remove it there first`, "host_name_taken")
  await wakePipeline(tx, ids.deploymentId)
  return { row, isNew: true }
}

function checkedName({ ownNames }: HostNameRules, wanted: string): string {
  const invalid = (message: string) => new InvalidInput([{ path: ["body", "name"], message, type: "value_error" }])
  const name = canonicalHostName(wanted)
  if (name === undefined) {
    throw invalid("expected a host name such as agent.example.com, without protocol, port, wildcard and path")
  }
  if (isLocalName(name)) throw invalid(`${name} means the machine of each caller`)
  if (ownNames.has(name)) throw invalid(`${name} is the platform's own name`)
  return name
}

async function isCovered(certFile: string | undefined, hostName: string): Promise<boolean> {
  if (certFile === undefined) return false
  return new X509Certificate(await readFile(certFile)).checkHost(hostName) !== undefined
}

/** @throws NotFound  also for deployments of other workspaces */
export async function listHostNames(db: Db, { workspaceId, deploymentId }: DeploymentIds): Promise<HostName[]> {
  await findDeployment(db, workspaceId, deploymentId)
  return hostNamesOf(db, deploymentId)
}

/** @throws NotFound  the deployment does not have the name */
export async function deleteHostName(tx: Db, ids: DeploymentIds, hostName: string): Promise<void> {
  await findDeployment(tx, ids.workspaceId, ids.deploymentId)
  const name = canonicalHostName(hostName)
  const removed = name === undefined ? 0 : await removeHostName(tx, ids.deploymentId, name)
  if (removed === 0) throw new NotFound(`the deployment has no host name ${hostName}`)
  await wakePipeline(tx, ids.deploymentId)
}

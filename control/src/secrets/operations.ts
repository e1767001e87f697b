/** Writes a new version of a deployment's secrets, opens the version of a revision, and deletes old ones. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, InvalidInput, NotFound, type Problem, Refused } from "@superstep/toolkit/errors/errors"
import type { MemberFailures } from "@superstep/toolkit/log/member-failures"
import {
  deploymentsWithOldSecrets,
  holdDeploymentOf,
  insertSecrets,
  isKept,
  lastSecretsVersion,
  removeUnneededSecrets,
  type SealedSecret,
  sealedSecrets,
  secretsPinnedBy,
} from "./queries.js"
import { type MasterKey, open, seal } from "./seal.js"
import { contextOf } from "./sealed-columns.js"
import { isReserved, repeatedNames, type SecretValue, secretMask } from "./secret.js"

export interface SecretsOwner {
  readonly workspaceId: string
  readonly deploymentId: string
}

/**
 * Replaces a deployment's secrets (S2) by writing the next version; the mask as a value keeps the one of `current`.
 * Call it in the transaction that pins the version.
 * @param current  the version that the mask refers to; 0 when there is none
 * @returns        the new version's number
 * @throws Refused       for names that the platform sets itself
 * @throws InvalidInput  for a name given twice, or a mask without a stored value
 */
export async function replaceSecrets(
  tx: Db,
  {
    key,
    owner,
    current,
    secrets,
  }: { key: MasterKey; owner: SecretsOwner; current: number; secrets: readonly SecretValue[] },
): Promise<number> {
  checkNames(secrets)
  const stored = new Map((await sealedSecrets(tx, owner.deploymentId, current)).map((row) => [row.name, row]))
  const version = (await lastSecretsVersion(tx, owner.deploymentId)) + 1
  const sealed = plainValues(key, owner, current, secrets, stored).map(({ name, value }) => ({
    name,
    value_sealed: seal(key, value, contextOf.secret(owner, name, version)),
  }))
  await insertSecrets(tx, { deploymentId: owner.deploymentId, version, secrets: sealed })
  return version
}

function checkNames(secrets: readonly SecretValue[]): void {
  const reserved = secrets.map(({ name }) => name).filter(isReserved)
  if (reserved.length > 0) {
    throw new Refused(`the platform itself sets ${reserved.join(", ")}: remove it from secrets`, "reserved_name")
  }
  const problems = repeatedNames(secrets)
  if (problems.length > 0) throw new InvalidInput(problems)
}

function plainValues(
  key: MasterKey,
  owner: SecretsOwner,
  current: number,
  secrets: readonly SecretValue[],
  stored: ReadonlyMap<string, SealedSecret>,
): SecretValue[] {
  const problems: Problem[] = []
  const values = secrets.map(({ name, value }, index) => {
    if (value !== secretMask) return { name, value }
    const kept = stored.get(name)
    if (kept) return { name, value: open(key, kept.value_sealed, contextOf.secret(owner, name, current)) }
    problems.push({
      path: ["body", "secrets", index, "value"],
      message: `the mask keeps the stored value, but ${name} has none: send its value`,
      type: "value_error",
    })
    return { name, value }
  })
  if (problems.length > 0) throw new InvalidInput(problems)
  return values
}

/**
 * The environment that a revision gives to the user's code.
 * @throws NotFound    the revision is gone
 * @throws CannotOpen  the secrets were encrypted with another master key
 */
export async function secretsOfRevision(
  db: Db,
  key: MasterKey,
  revision: { readonly revision_id: string },
): Promise<Record<string, string>> {
  const pinned = await secretsPinnedBy(db, revision.revision_id)
  if (!pinned) throw new NotFound(`Revision ID ${revision.revision_id} not found.`)
  const owner = { workspaceId: pinned.workspace_id, deploymentId: pinned.deployment_id }
  return secretsOfVersion(db, key, owner, pinned.secrets_version)
}

/**
 * A version of a deployment's secrets in clear text, by name.
 * @throws CannotOpen
 */
export async function secretsOfVersion(
  db: Db,
  key: MasterKey,
  owner: SecretsOwner,
  version: number,
): Promise<Record<string, string>> {
  const rows = await sealedSecrets(db, owner.deploymentId, version)
  const values = rows.map(({ name, value_sealed }) => [
    name,
    open(key, value_sealed, contextOf.secret(owner, name, version)),
  ])
  return Object.fromEntries(values)
}

/**
 * Call it before an old version is pinned again, while holding the deployment: a revision whose secrets were deleted (S9)
 * must not start without them.
 * @throws Conflict
 */
export async function requireKept(
  tx: Db,
  revision: { readonly revision_id: string; readonly deployment_id: string; readonly secrets_version: number },
): Promise<void> {
  if (await isKept(tx, revision.deployment_id, revision.secrets_version)) return
  const words = `The secrets of revision ID ${revision.revision_id} were deleted: choose a newer revision, or send its configuration and secrets in a PATCH`
  throw new Conflict(words, "secrets_removed")
}

/** Deletes the versions that no rollback can reach (S9), one deployment after the other. One that fails does not stop the others. */
export async function removeOldSecrets(
  { db, failures }: { readonly db: Database; readonly failures: MemberFailures },
  keep: number,
): Promise<void> {
  const members = await deploymentsWithOldSecrets(db, keep)
  const factsOf = ({ deployment_id }: { readonly deployment_id: string }) => ({ deployment_id })
  await failures.forEach("the deletion of its old secrets", members, factsOf, ({ deployment_id: id }) =>
    db.transaction(async (tx) => {
      await holdDeploymentOf(tx, id)
      await removeUnneededSecrets(tx, id, keep)
    }),
  )
}

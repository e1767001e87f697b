/** Writes a new version of a deployment's secrets, and opens the one that a revision pins. */
import type { Db } from "@superstep/toolkit/db/database"
import { InvalidInput, NotFound, type Problem, Refused } from "@superstep/toolkit/errors/errors"
import { insertSecrets, lastSecretsVersion, type SealedSecret, sealedSecrets, secretsPinnedBy } from "./queries.js"
import { type MasterKey, open, seal } from "./seal.js"
import { contextOf } from "./sealed-columns.js"
import { isReserved, repeatedNames, type SecretValue, secretMask } from "./secret.js"

export interface SecretsOwner {
  readonly workspaceId: string
  readonly deploymentId: string
}

/**
 * Replaces a deployment's secrets (S2) by writing the next version; the mask as a value keeps the one of `current`.
 * Belongs into the transaction that pins the version.
 * @param current  the version that the mask refers to; 0 when there is none
 * @returns        the new version's number
 * @throws Refused       for names that the platform sets itself
 * @throws InvalidInput  for a name given twice, or a mask without a stored value behind it
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
    throw new Refused(`the platform sets ${reserved.join(", ")} itself: leave it out of secrets`, "reserved_name")
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
      message: `the mask keeps a stored value, but ${name} has none: send its value`,
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
 * @throws CannotOpen  the master key is another one than the secrets were sealed with
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
 * A version of a deployment's secrets in clear, by name.
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

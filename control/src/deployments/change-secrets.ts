/** Changes only a deployment's secrets; each change is a new version of them and, by default, a revision. */
import type { Db } from "@superstep/toolkit/db/database"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { applyChange } from "./apply-change.js"
import { startsWithARevision } from "./deployment.js"
import { type DeploymentIds, holdForChange } from "./hold.js"
import type { DeploymentRules } from "./operations.js"
import type { DeploymentRow } from "./queries.js"
import { nextSecrets, type SecretChange, type SecretsMode } from "./secret-changes.js"

export interface WantedSecrets {
  readonly secrets: readonly SecretChange[]
  readonly mode: SecretsMode
  /** False: the change applies from the next revision on. */
  readonly deploy: boolean
  readonly actor: string
}

/**
 * @throws NotFound  the deployment, or a secret to be removed, does not exist
 * @throws Conflict | InvalidInput | Refused  as a PATCH does
 */
export async function changeSecrets(
  tx: Db,
  { key }: Pick<DeploymentRules, "key">,
  ids: DeploymentIds,
  { secrets, mode, deploy, actor }: WantedSecrets,
): Promise<DeploymentRow> {
  const deployment = await holdForChange(tx, ids)
  const unknown = secrets.find(({ name, value }) => value === null && !deployment.secret_names.includes(name))
  if (unknown) throw secretNotFound(unknown.name)
  const next = nextSecrets(deployment.secret_names, { secrets, mode })
  if (next === undefined) return deployment
  const source = deployment.latest_source ?? deployment.source
  const makesRevision = deploy && startsWithARevision(source, deployment.source_revision_config)
  return applyChange(tx, key, deployment, {
    secrets: next,
    actor,
    ...(makesRevision && { trigger: "patch" }),
  })
}

export const secretNotFound = (name: string): NotFound => new NotFound(`The deployment has no secret named ${name}.`)

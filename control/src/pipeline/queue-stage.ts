/** queue: creates the deployment's own database and role, which are kept until the deployment is deleted. */
import { randomBytes } from "node:crypto"
import { createDatabase, dropDatabase } from "@superstep/toolkit/db/provision"
import { type CarriedDeployment, deploymentById, markReady, nameDatabase } from "../deployments/carried-queries.js"
import { databaseOf } from "../deployments/database.js"
import type { PipelineContext } from "../planner/context.js"
import { seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { reuseArtifact } from "./reuse-artifact.js"
import type { RunStage } from "./stage.js"

export const runQueue: RunStage = async (input) => {
  const { context, revision, deployment } = input
  context.crashPoint("queue:begin")
  if (deployment.status === "AWAITING_DATABASE") await provision(context, deployment)
  context.crashPoint("queue:after-provision")
  // A rollback does not wait for fetches and builds of others.
  const sha = revision.source_revision_config.repo_commit_sha
  const reused = sha === null ? undefined : await reuseArtifact(input, sha)
  return reused ?? { kind: "next", status: "AWAITING_BUILD", stage: "fetch" }
}

/** Stores the password before the role gets it: a process that dies in between leaves no database without a known password. */
async function provision({ db, key, crashPoint }: PipelineContext, deployment: CarriedDeployment): Promise<void> {
  const id = deployment.deployment_id
  const password = randomBytes(24).toString("base64url")
  await nameDatabase(db, id, `superstep_${id.replaceAll("-", "")}`, seal(key, password, contextOf.database(id)))
  crashPoint("queue:after-name")
  const named = await deploymentById(db, id)
  const database = named && databaseOf(key, named)
  if (!database) return
  // No connections until a unit is started; its share is set then (connections.ts).
  const owner = { password: database.password.reveal(), connectionLimit: 0 }
  await createDatabase({ adminUri: db.uri, name: database.name, owner })
  crashPoint("queue:after-database")
  if ((await markReady(db, id)) > 0) return
  // A deletion was requested meanwhile, and may have looked for the database before it existed.
  await dropDatabase({ adminUri: db.uri, name: database.name })
}

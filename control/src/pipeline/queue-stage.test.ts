import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import test from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { deploymentById, nameDatabase } from "../deployments/carried-queries.js"
import { pipelineContext } from "../planner/testing/pipeline-context.js"
import { addDeployment } from "../revisions/testing/rows.js"
import { masterKey, seal } from "../secrets/seal.js"
import { migrations } from "../testing/api.js"
import { runQueue } from "./queue-stage.js"
import type { StageInput } from "./stage.js"

for (const when of ["before it has a name", "before it is there"]) {
  test(`a deployment that is deleted while its database is made, ${when}, leaves none`, async () => {
    await using db = await freshDatabase({ migrations })
    const key = masterKey(randomBytes(32))
    const id = await addDeployment(db)
    await db.run(sql`update deployments set status = 'AWAITING_DATABASE' where deployment_id = ${id}`)
    const name = `superstep_${id.replaceAll("-", "")}`
    if (when === "before it is there") await nameDatabase(db, id, name, seal(key, "password", ["database", id]))
    const deployment = await deploymentById(db, id)

    await db.run(sql`
      update deployments set status = 'AWAITING_DELETE', delete_requested_at = now() where deployment_id = ${id}`)
    const revision = { source_revision_config: { repo_commit_sha: null } }
    await runQueue({ context: pipelineContext({ db, key }), revision, deployment } as unknown as StageInput)

    assert.deepEqual(await db.rows(sql`select from pg_database where datname = ${name}`), [])
    assert.deepEqual(await db.rows(sql`select from pg_roles where rolname = ${name}`), [])
  })
}

import assert from "node:assert/strict"
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import test from "node:test"
import { fileURLToPath } from "node:url"
import { createLog } from "@superstep/toolkit/log/log"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { buildFiles } from "../builders/build-request.js"
import { addDeployment } from "../revisions/testing/rows.js"
import { addArtifact } from "./artifact-queries.js"
import { foldersOf, workFolder } from "./folders.js"
import { removeUnknownArtifacts } from "./retention.js"

const migrations = fileURLToPath(new URL("../../src/migrations", import.meta.url))

test("an artefact that has no row and that nobody builds is removed", async () => {
  await using db = await freshDatabase({ migrations })
  const folders = foldersOf(temporaryFolder())
  for (const id of ["known", "in-build", "forgotten"]) mkdirSync(join(folders.artifacts, id), { recursive: true })
  const deploymentId = await addDeployment(db)
  await addArtifact(db, { artifactId: "known", deploymentId, platform: "p", graphs: [], langgraphVersion: null })
  const { request } = buildFiles(workFolder(folders, "revision").build)
  mkdirSync(dirname(request), { recursive: true })
  writeFileSync(request, JSON.stringify({ artifactFolder: join(folders.artifacts, "in-build") }))

  await removeUnknownArtifacts({ db, folders, log: createLog({ process: "control", level: "silent" }) })

  assert.deepEqual(readdirSync(folders.artifacts).toSorted(), ["in-build", "known"])
})

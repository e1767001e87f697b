import assert from "node:assert/strict"
import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { buildFiles } from "@superstep/builder/build-request"
import { writeJson } from "@superstep/toolkit/files/json-file"
import { processPlace } from "../../process/testing/place.js"
import { prepareFolders, workFolder } from "../files/folders.js"

test("artifacts are listed beside the build of another release, without what that build publishes", async () => {
  const { folders, artifactId, open } = processPlace()
  const request = async (revisionId: string, value: unknown) => {
    const { build } = workFolder(folders, revisionId)
    mkdirSync(build, { recursive: true })
    await writeJson(buildFiles(build).request, value)
  }
  mkdirSync(join(folders.artifacts, "of-a-build"))
  await request("r1", { version: 99, artifactFolder: join(folders.artifacts, "of-a-build") })
  await request("r2", { version: 99 })
  await request("r3", null)

  assert.deepEqual(await open().artifacts.list(), [artifactId])
})

test("what a killed deletion of an artifact has left is not listed, and is removed when the machine is opened", async () => {
  const { folders, artifactId, open } = processPlace()
  mkdirSync(join(folders.artifacts, `deleted.${crypto.randomUUID()}`, "node_modules"), { recursive: true })

  const listed = await open().artifacts.list()
  await prepareFolders(folders)

  assert.deepEqual(listed, [artifactId])
  assert.deepEqual(readdirSync(folders.artifacts), [artifactId])
})

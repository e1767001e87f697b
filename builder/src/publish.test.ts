import assert from "node:assert/strict"
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { closeTree } from "@superstep/toolkit/files/own-tree"
import { UnusableFile } from "@superstep/toolkit/files/read-plain-file"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { addSchemas, makeSchemasFolder, prune } from "./publish.js"

test("files that an artifact must not contain are removed, at its root and beside its configuration, and no target of a link", async () => {
  const [tree, linked, outside] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
  mkdirSync(join(tree, "agent", "node_modules", ".cache"), { recursive: true })
  writeFileSync(join(tree, ".env"), "A=1")
  writeFileSync(join(tree, "agent", "graph.js"), "")
  mkdirSync(join(outside, ".cache"))
  writeFileSync(join(outside, ".env"), "A=1")
  for (const name of ["agent", "node_modules"]) symlinkSync(outside, join(linked, name))
  symlinkSync(join(outside, ".env"), join(linked, ".npmrc"))

  assert.deepEqual(await prune(tree, "agent"), [".env", "agent/node_modules/.cache"])
  assert.deepEqual(await prune(linked, "agent"), [".npmrc"])

  assert.ok(existsSync(join(tree, "agent", "graph.js")))
  assert.equal(readFileSync(join(outside, ".env"), "utf8"), "A=1")
  assert.ok(existsSync(join(outside, ".cache")))
})

test("schemas are added to a published artifact, again and again, and never through a link out of it", async () => {
  const artifactFolder = temporaryFolder()
  const outside = temporaryFolder()
  mkdirSync(join(artifactFolder, "agent"))
  mkdirSync(join(artifactFolder, "linked"))
  symlinkSync(outside, join(artifactFolder, "linked", ".superstep"))
  symlinkSync(outside, join(artifactFolder, "away"))
  closeTree(artifactFolder, null)
  const add = (configPath: string, text: string) => addSchemas({ artifactFolder, configPath, text, reader: null })

  await add("agent/langgraph.json", "1")
  await add("agent/langgraph.json", "2")
  await assert.rejects(add("linked/langgraph.json", "3"), UnusableFile)
  await assert.rejects(add("away/langgraph.json", "4"), UnusableFile)

  assert.equal(readFileSync(join(artifactFolder, "agent", ".superstep", "schemas.json"), "utf8"), "2")
  assert.deepEqual(readdirSync(outside), [])
})

test("the folder of stored schemas is in the artifact, whatever links the project has", async () => {
  const artifactFolder = temporaryFolder()
  const outside = temporaryFolder()
  mkdirSync(join(artifactFolder, "agent"))
  mkdirSync(join(artifactFolder, "taken"))
  symlinkSync("agent", join(artifactFolder, "same"))
  symlinkSync(outside, join(artifactFolder, ".superstep"))
  writeFileSync(join(artifactFolder, "taken", ".superstep"), "")
  const make = (configPath: string) => makeSchemasFolder({ artifactFolder, configPath, reader: null })

  const folder = await make("same/langgraph.json")

  assert.equal(folder, join(realpathSync(artifactFolder), "agent", ".superstep"))
  await assert.rejects(make("langgraph.json"), UnusableFile)
  await assert.rejects(make("taken/langgraph.json"), UnusableFile)
})

import assert from "node:assert/strict"
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { prune } from "./publish.js"

test("what an artefact must not carry is taken out, at its root and beside its configuration", async () => {
  const tree = temporaryFolder()
  mkdirSync(join(tree, "agent", "node_modules", ".cache"), { recursive: true })
  writeFileSync(join(tree, ".env"), "A=1")
  writeFileSync(join(tree, "agent", "graph.js"), "")

  const gone = await prune(tree, "agent")

  assert.deepEqual(gone, [".env", "agent/node_modules/.cache"])
  assert.ok(existsSync(join(tree, "agent", "graph.js")))
})

test("links are taken out themselves, and what they lead to outside the tree stays", async () => {
  const outside = temporaryFolder()
  mkdirSync(join(outside, ".cache"))
  writeFileSync(join(outside, ".env"), "A=1")
  const tree = temporaryFolder()
  symlinkSync(outside, join(tree, "agent"))
  symlinkSync(outside, join(tree, "node_modules"))
  symlinkSync(join(outside, ".env"), join(tree, ".npmrc"))

  const gone = await prune(tree, "agent")

  assert.deepEqual(gone, [".npmrc"])
  assert.equal(readFileSync(join(outside, ".env"), "utf8"), "A=1")
  assert.ok(existsSync(join(outside, ".cache")))
})

import assert from "node:assert/strict"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { workFolder } from "../files/folders.js"
import { isolatedUser } from "../isolation/isolation.js"
import { sourceTrees } from "./source-trees.js"

for (const user of process.getuid?.() === 0 ? [() => undefined, isolatedUser] : [() => undefined])
  test(`a tree is taken again after a kill behind its move, ${user === isolatedUser ? "with" : "without"} isolation`, async () => {
    const folders = { work: temporaryFolder() }
    const trees = sourceTrees(folders, { user })
    const prepared = await trees.prepare("r1")
    mkdirSync(prepared)
    writeFileSync(join(prepared, "graph.ts"), "export const graph = 1")
    await trees.take("r1")
    const { fetched } = workFolder(folders, "r1")
    // The kill came before this folder was removed.
    mkdirSync(fetched)

    const tree = await trees.take("r1")

    assert.equal(readFileSync(join(tree, "graph.ts"), "utf8"), "export const graph = 1")
    assert.equal(existsSync(fetched), false)
  })

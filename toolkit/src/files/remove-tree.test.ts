import assert from "node:assert/strict"
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { removeTree } from "./remove-tree.js"
import { swapperIn } from "./testing/swapper.js"

const isRoot = process.getuid?.() === 0

test("read-only trees are deleted, and links in them are not followed", async () => {
  const [home, outside] = [temporaryFolder(), temporaryFolder()]
  const tree = join(home, "tree")
  mkdirSync(join(tree, "a", "b"), { recursive: true })
  writeFileSync(join(outside, "kept"), "")
  symlinkSync(outside, join(tree, "a", "link"))
  symlinkSync("nowhere", join(tree, "broken"))
  writeFileSync(join(tree, "a", "b", "file"), "")
  for (const path of ["a/b", "a", "."]) chmodSync(join(tree, path), 0o500)

  await removeTree(tree)
  await removeTree(tree)

  assert.deepEqual(readdirSync(home), [])
  assert.deepEqual(readdirSync(outside), ["kept"])
  symlinkSync(outside, tree)
  await removeTree(tree)
  assert.deepEqual([existsSync(tree), readdirSync(outside)], [false, ["kept"]])
})

// macOS stores no such name.
test("a tree with names that are not UTF-8 is deleted", { skip: process.platform !== "linux" }, async () => {
  const home = temporaryFolder()
  const tree = join(home, "tree")
  const inner = Buffer.from(`${tree}/\xe9/\xe8`, "latin1")
  mkdirSync(inner, { recursive: true })
  writeFileSync(Buffer.concat([inner, Buffer.from("/\xff", "latin1")]), "")

  await removeTree(tree)

  assert.deepEqual(readdirSync(home), [])
})

test("a tree that is deeper than the longest path is deleted", async () => {
  const home = temporaryFolder()
  const name = "x".repeat(200)
  let inner = join(home, "tree")
  mkdirSync(inner)
  const former = process.cwd()
  for (let depth = 0; depth < 60; depth++) {
    process.chdir(inner)
    mkdirSync(name)
    inner = name
  }
  process.chdir(former)

  await removeTree(join(home, "tree"))

  assert.deepEqual(readdirSync(home), [])
})

const skip = !isRoot && "only root deletes what other users write to"
test("swapping folders for links while root deletes a tree deletes nothing else", { skip }, async () => {
  const [home, victim] = [temporaryFolder(), temporaryFolder()]
  writeFileSync(join(victim, "kept"), "")
  for (let round = 0; round < 5; round++) {
    const tree = join(home, `tree${round}`)
    await using _ = await swapperIn(join(tree, "data"), { victim, count: 20, user: { uid: 204_711, gid: 204_711 } })

    await removeTree(tree)

    assert.deepEqual([readdirSync(victim), readdirSync(home)], [["kept"], []], `round ${round}`)
  }
})

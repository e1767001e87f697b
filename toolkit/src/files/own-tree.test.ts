import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, lchownSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test as nodeTest } from "node:test"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { testUnless } from "../testing/test-unless.js"
import { closeTree, giveTree, handOver, takeFolders, takeFrom } from "./own-tree.js"
import { swapperIn } from "./testing/swapper.js"

const test = testUnless(process.getuid?.() !== 0 && "only root has trees of other users")
// Two users without an account, in one group.
const reader = { uid: 204_500, gid: 204_500 }
const user = { uid: 304_500, gid: 204_500 }

const kindOf = (path: string) => {
  const { uid, gid, mode } = statSync(path)
  return { uid, gid, mode: mode & 0o7777 }
}

nodeTest("nobody can change a closed tree, and pipes in it are deleted", () => {
  const tree = join(temporaryFolder(), "tree")
  mkdirSync(join(tree, "sub"), { recursive: true })
  for (const name of ["file", "sub/program"]) writeFileSync(join(tree, name), "")
  chmodSync(join(tree, "sub/program"), 0o755)
  execFileSync("mkfifo", [join(tree, "sub/pipe")])
  chmodSync(join(tree, "sub"), 0o500)

  closeTree(tree, null)

  const modes = ["", "sub", "file", "sub/program"].map((name) => kindOf(join(tree, name)).mode & 0o222)
  assert.deepEqual(modes, [0o200, 0, 0, 0])
  assert.equal(kindOf(join(tree, "sub/program")).mode & 0o100, 0o100)
  assert.ok(!existsSync(join(tree, "sub/pipe")))
})

test("a closed tree belongs to root, its reader can read it, and hard links to root's files are removed", () => {
  const home = temporaryFolder()
  const tree = join(home, "tree")
  mkdirSync(tree)
  writeFileSync(join(home, "key"), "", { mode: 0o600 })
  for (const name of ["file", "program"]) writeFileSync(join(tree, name), "")
  symlinkSync(join(home, "key"), join(tree, "link"))
  giveTree(tree, user)
  chmodSync(join(tree, "program"), 0o6777)
  chmodSync(tree, 0o777)
  linkSync(join(home, "key"), join(tree, "second-name"))

  closeTree(tree, reader)

  const owner = { uid: 0, gid: reader.gid }
  assert.deepEqual(kindOf(tree), { ...owner, mode: 0o750 })
  assert.deepEqual(kindOf(join(tree, "file")), { ...owner, mode: 0o640 })
  assert.deepEqual(kindOf(join(tree, "program")), { ...owner, mode: 0o750 })
  assert.ok(!existsSync(join(tree, "second-name")))
  assert.deepEqual(kindOf(join(home, "key")), { uid: 0, gid: 0, mode: 0o600 })
})

test("folders are given back unchanged, and one behind a link is not taken", () => {
  const tree = join(temporaryFolder(), "tree")
  mkdirSync(join(tree, "a", "b"), { recursive: true })
  symlinkSync("a", join(tree, "link"))
  giveTree(tree, user)
  chmodSync(join(tree, "a"), 0o775)

  const giveBack = takeFolders(tree, "a/b", user)
  const taken = ["", "a", "a/b"].map((name) => kindOf(join(tree, name)))
  giveBack?.()

  for (const it of taken) assert.deepEqual(it, { uid: 0, gid: 0, mode: 0o700 })
  assert.deepEqual(kindOf(join(tree, "a")), { ...user, mode: 0o775 })
  assert.equal(takeFolders(tree, "link/b", user), undefined)
  assert.deepEqual(kindOf(tree), { ...user, mode: 0o755 })
})

test("a tree that is taken from a user contains only its own files, none with rights, and nobody else can change it", async () => {
  const home = temporaryFolder()
  const tree = join(home, "tree")
  mkdirSync(join(tree, "sub"), { recursive: true })
  writeFileSync(join(home, "key"), "", { mode: 0o600 })
  for (const name of ["file", "sub/program"]) writeFileSync(join(tree, name), "")
  symlinkSync(join(home, "key"), join(tree, "link"))
  execFileSync("mkfifo", [join(tree, "sub/pipe")])
  giveTree(tree, user)
  chmodSync(join(tree, "sub/program"), 0o6777)
  for (const name of ["", "sub"]) chmodSync(join(tree, name), 0o777)
  linkSync(join(home, "key"), join(tree, "second-name"))
  writeFileSync(join(tree, "of-another"), "")
  lchownSync(join(tree, "of-another"), reader.uid, reader.gid)

  for (let time = 0; time < 2; time++) await takeFrom(tree, user)

  const root = { uid: 0, gid: 0 }
  for (const name of ["", "sub", "sub/program"])
    assert.deepEqual(kindOf(join(tree, name)), { ...root, mode: 0o755 }, name)
  assert.deepEqual(kindOf(join(tree, "file")), { ...root, mode: 0o644 })
  for (const name of ["second-name", "of-another", "sub/pipe"]) assert.ok(!existsSync(join(tree, name)), name)
  assert.deepEqual(kindOf(join(home, "key")), { ...root, mode: 0o600 })
  await assert.rejects(takeFrom(join(tree, "link"), user), /is no folder/)
})

test("neither closing a tree, taking it nor handing it over changes files that its user links to meanwhile", async () => {
  const victim = temporaryFolder()
  writeFileSync(join(victim, "kept"), "", { mode: 0o600 })
  const before = [victim, join(victim, "kept")].map(kindOf)
  for (const [what, work] of [
    ["close", (tree: string) => closeTree(tree, reader)],
    ["take", (tree: string) => takeFrom(tree, user)],
    ["hand over", (tree: string) => handOver(tree, reader)],
  ] as const)
    for (let round = 0; round < 5; round++) {
      const tree = join(temporaryFolder(), "tree")
      await using _ = await swapperIn(tree, { victim, count: 200, user })

      await work(tree)

      assert.deepEqual([victim, join(victim, "kept")].map(kindOf), before, `${what}, round ${round}`)
      if (what === "hand over") assert.equal(kindOf(tree).uid, reader.uid)
    }
})

test("a file with another name outside is not handed over", () => {
  const folder = join(temporaryFolder(), "control")
  mkdirSync(folder)
  for (const name of ["own", "linked"]) writeFileSync(join(folder, name), "")
  linkSync(join(folder, "linked"), `${folder}-other-name`)

  handOver(folder, user)

  const owners = ["", "own", "linked"].map((name) => kindOf(join(folder, name)).uid)
  assert.deepEqual(owners, [user.uid, user.uid, 0])
})

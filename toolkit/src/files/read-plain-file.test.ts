import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join, relative } from "node:path"
import test from "node:test"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { readPlainFile, UnusableFile } from "./read-plain-file.js"
import { swapperIn } from "./testing/swapper.js"

test("a file is read also through links that stay in the tree", async () => {
  const tree = temporaryFolder()
  mkdirSync(join(tree, "a"))
  writeFileSync(join(tree, "a", "file"), "äöü")
  symlinkSync("a", join(tree, "folder"))
  symlinkSync("folder/file", join(tree, "link"))

  for (const path of ["a/file", "folder/file", "link"]) assert.equal(await readPlainFile(tree, path, 100), "äöü", path)
  assert.equal(await readPlainFile(tree, "none", 100), undefined)
  assert.equal(await readPlainFile(tree, "link/none", 100), undefined)
})

test("a path that is not a regular file of the tree is refused at once, without its content in the error", async (t) => {
  const [tree, outside] = [temporaryFolder(), temporaryFolder()]
  writeFileSync(join(outside, "key"), "secret")
  symlinkSync(join(outside, "key"), join(tree, "link"))
  symlinkSync(outside, join(tree, "parent"))
  symlinkSync("loop", join(tree, "loop"))
  execFileSync("mkfifo", [join(tree, "pipe")])
  mkdirSync(join(tree, "folder"))
  writeFileSync(join(tree, "big"), "")
  truncateSync(join(tree, "big"), 101)
  const server = createServer().listen(join(tree, "socket"))
  t.after(() => server.close())
  await once(server, "listening")

  for (const path of ["link", "parent/key", relative(tree, join(outside, "key")), "pipe", "folder", "big", "socket"])
    await assert.rejects(readPlainFile(tree, path, 100), (error) => {
      assert.ok(error instanceof UnusableFile, `${path}: ${error}`)
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
  assert.equal(await readPlainFile(tree, "loop", 100), undefined)
})

test("a folder that is swapped for a link during the check is detected", {
  skip: process.platform !== "linux",
}, async () => {
  const [tree, outside] = [temporaryFolder(), temporaryFolder()]
  writeFileSync(join(outside, "kept"), "secret")
  await using _ = await swapperIn(tree, { victim: outside, count: 1 })

  const seen = new Set<string | undefined>()
  // Until it was also read at a moment when it is no link.
  for (let round = 0; round < 3000 || !seen.has(""); round++)
    seen.add(await readPlainFile(tree, "f0/kept", 100).catch((error: Error) => error.name))

  assert.ok(!seen.has("secret"))
})
